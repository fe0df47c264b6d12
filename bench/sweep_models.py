#!/usr/bin/python3
"""The architectures of bench/sweep.py, and how one of them becomes a file: with random weights, by Debian's PyTorch.

    sweep_models.py NAME FOLDER

writes NAME.traced.pt, NAME.scripted.pt where torch.jit.script() takes the model, NAME.input.npy, NAME.exact.npy (the answer in float64, one array
behind the other) and NAME.json: what PyTorch's own float32 answer differs from that by. Packages are found through PYTHONPATH (bench/sweep.py).
"""

import copy
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import sys
import unittest.mock
import warnings

# Of timm, by version. Where an architecture has sizes, a small one stands for all.
TIMM = {
    "0.6.13": """
        resnet18 resnet50d resnet50_gn resnetblur50 seresnet50 ecaresnet26t resnetv2_50 resnext50_32x4d wide_resnet50_2 gluon_resnet50_v1s
        res2net50_26w_4s res2next50 resnest14d resnest26d skresnet18 skresnext50_32x4d senet154
        regnetx_008 regnety_008 regnetz_b16 regnetv_040 dm_nfnet_f0 nf_resnet50 nf_regnet_b1 eca_nfnet_l0 resnetv2_50x1_bitm
        efficientnet_b0 tf_efficientnet_b0 tf_efficientnet_lite0 efficientnet_es tf_efficientnetv2_b0 efficientnetv2_rw_t efficientnet_b0_gn
        mobilenetv2_100 mobilenetv3_large_100 tf_mobilenetv3_small_075 fbnetc_100 fbnetv3_b spnasnet_100 mnasnet_100 semnasnet_100
        ghostnet_100 mixnet_s tf_mixnet_s hardcorenas_a lcnet_050 tinynet_a rexnet_100
        densenet121 densenetblur121d dpn68b dla34 dla60_res2net dla46x_c hrnet_w18_small vovnet39a ese_vovnet19b_dw
        xception xception41p inception_v3 inception_v4 inception_resnet_v2 nasnetalarge pnasnet5large vgg11_bn
        convnext_atto convnext_tiny convmixer_768_32 convmixer_1024_20_ks9_p14 poolformer_s12
        vit_tiny_patch16_224 vit_small_patch32_224 vit_tiny_r_s16_p8_224 vit_relpos_small_patch16_224 deit_tiny_distilled_patch16_224
        deit3_small_patch16_224 beit_base_patch16_224 swin_tiny_patch4_window7_224 swin_s3_tiny_224 swinv2_tiny_window8_256 swinv2_cr_tiny_ns_224
        cait_xxs24_224 xcit_nano_12_p16_224 xcit_tiny_12_p8_224 pit_ti_224 pit_s_distilled_224 tnt_s_patch16_224 coat_lite_tiny coat_tiny
        crossvit_9_dagger_240 levit_128s mvitv2_tiny maxvit_tiny_rw_224 maxxvit_rmlp_nano_rw_256 coatnet_0_rw_224 coatnext_nano_rw_224
        mixer_s32_224 gmlp_s16_224 resmlp_12_224 edgenext_xx_small edgenext_small_rw mobilevit_xxs mobilevitv2_050 efficientformer_l1
        repvgg_a2 cspresnet50 cspdarknet53 cs3darknet_focus_m cs3edgenet_x selecsls42b gernet_s
        sequencer2d_s visformer_tiny volo_d1_224 twins_svt_small twins_pcpvt_small jx_nest_tiny convit_tiny
        halonet26t lambda_resnet26t botnet26t_256 bat_resnext26ts eca_halonext26ts lamhalobotnet50ts_256 gcresnet33ts sebotnet33ts_256
        pvt_v2_b0
        haloregnetz_b lambda_resnet26rpt_256 regnetz_c16_evos seresnext26ts regnetz_d8_evos coat_mini convit_small convnext_pico
        crossvit_15_240 cspresnet50d cs3sedarknet_x deit_small_patch16_224 densenet161 dla102x2 dla60_res2next dpn92 dpn68 edgenext_small
        efficientformer_l3 efficientnet_b0_g16_evos efficientnet_b2a mobilenetv2_110d gcvit_xtiny ghostnet_130 gluon_resnext50_32x4d
        gluon_resnet50_v1d gluon_resnet18_v1b gluon_xception65 hardcorenas_f hrnet_w32 hrnet_w18_small_v2 adv_inception_v3 levit_128
        levit_256d maxvit_rmlp_tiny_rw_256 maxvit_rmlp_nano_rw_256 coatnet_1_224 gmixer_24_224 gmlp_ti16_224 lcnet_035 mobilenetv3_rw
        mobilevitv2_100 mvitv2_small_cls nest_tiny jx_nest_small nf_ecaresnet26 nf_seresnet26 nfnet_l0 pit_xs_distilled_224 poolformer_s36
        pvt_v2_b2 pvt_v2_b2_li regnetx_040 regnetz_040h res2net50_14w_8s res2net50_26w_6s resnest50d_1s4x24d resnest50d_4s2x40d resnet34
        seresnet50t seresnext26t_32x4d resnetv2_50d_frn resnetv2_50t resnetv2_50d_evob rexnetr_100 rexnet_200 selecsls60b
        legacy_seresnext50_32x4d legacy_seresnet18 skresnet50 swinv2_tiny_window16_256 tresnet_m twins_pcpvt_base visformer_small
        vit_small_patch8_224_dino vit_small_patch16_224 vit_small_r26_s32_224 vit_relpos_medium_patch16_rpn_224
        vit_srelpos_medium_patch16_224 ese_vovnet57b ese_vovnet19b_slim xception71 xcit_tiny_24_p16_224 xcit_small_12_p16_224""",
    "0.9.12": """
        resnet18 resnetaa50 resnetv2_50d_gn resnetv2_50d_evos efficientnet_b0 mobilenetv3_small_050 convnextv2_atto convnext_femto_ols
        poolformerv2_s12 convformer_s18 caformer_s18 fastvit_t8 fastvit_sa12 efficientformerv2_s0 repvit_m1 repghostnet_050 ghostnetv2_100
        mobileone_s0 efficientvit_b0 efficientvit_m0 focalnet_tiny_srf davit_tiny gcvit_xxtiny inception_next_tiny tiny_vit_5m_224
        eva02_tiny_patch14_224 vit_medium_patch16_gap_240 samvit_base_patch16_224 vit_tiny_patch16_224 vit_base_patch32_clip_224 flexivit_small
        swin_tiny_patch4_window7_224 swinv2_cr_tiny_224 beit_base_patch16_224 maxvit_rmlp_pico_rw_256 maxvit_tiny_tf_224 coatnet_rmlp_nano_rw_224
        xcit_nano_12_p16_224 levit_128s levit_conv_128s mvitv2_tiny regnetz_040 nfnet_f0 crossvit_tiny_240 twins_svt_small
        sehalonet33ts halo2botnet50ts_256 regnetz_b16_evos repvgg_a0 mobileone_s3 coat_small coat_lite_small convnext_nano_ols
        deit3_medium_patch16_224 dla60 dpn48b edgenext_small efficientformerv2_l mixnet_m efficientnet_b1_pruned efficientnet_b3
        efficientvit_b1 efficientvit_m2 eva02_small_patch14_224 gcvit_tiny ghostnetv2_130 levit_192 levit_conv_256d maxxvitv2_nano_rw_256
        maxvit_nano_rw_256 maxvit_pico_rw_256 poolformerv2_s24 resmlp_36_224 gmlp_ti16_224 lcnet_075 fbnetv3_g nest_tiny_jx nf_ecaresnet50
        nf_regnet_b0 pit_xs_224 pvt_v2_b2_li regnety_064 regnety_008_tv repghostnet_100 repvit_m3 res2net50_48w_2s resnest50d resnetblur18
        resnet34d resnetv2_50d_frn resnetv2_50t resnetv2_50x1_bit rexnet_300 legacy_seresnet50 skresnet34 tiny_vit_21m_224
        vit_medium_patch16_reg4_gap_256 vit_small_r26_s32_224 vit_relpos_medium_patch16_224 vit_relpos_medium_patch16_rpn_224
        ese_vovnet39b_evos ese_vovnet19b_slim legacy_xception xception65p xcit_small_12_p8_224""",
}

# Of transformers: the class of the model (and the part of it that counts), the class of its config, what that differs in, and the input: its shape, or None for
# 128 words. Twelve equal layers are no other architecture than four.
TRANSFORMERS = {
    "bert": ("BertModel", "BertConfig", {}, None),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {}, None),
    "roberta": ("RobertaModel", "RobertaConfig", {"num_hidden_layers": 4}, None),
    "albert": ("AlbertModel", "AlbertConfig", {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}, None),
    "electra": ("ElectraModel", "ElectraConfig", {}, None),
    "mobilebert": ("MobileBertModel", "MobileBertConfig", {"num_hidden_layers": 12}, None),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {"num_hidden_layers": 4}, None),
    "deberta": ("DebertaModel", "DebertaConfig", {"num_hidden_layers": 4, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, None),
    "deberta_v2": ("DebertaV2Model", "DebertaV2Config",
                   {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "num_hidden_layers": 4, "vocab_size": 30000,
                    "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 256, "norm_rel_ebd": "layer_norm"}, None),
    "longformer": ("LongformerModel", "LongformerConfig", {"num_hidden_layers": 4, "attention_window": 64}, None),
    "big_bird": ("BigBirdModel", "BigBirdConfig", {"num_hidden_layers": 4, "attention_type": "original_full"}, None),
    "fnet": ("FNetModel", "FNetConfig", {"num_hidden_layers": 4}, None),
    "funnel": ("FunnelModel", "FunnelConfig", {"block_sizes": [2, 2, 2]}, None),
    "convbert": ("ConvBertModel", "ConvBertConfig", {"num_hidden_layers": 4}, None),
    "nystromformer": ("NystromformerModel", "NystromformerConfig", {"num_hidden_layers": 4, "segment_means_seq_len": 128}, None),
    "xlnet": ("XLNetModel", "XLNetConfig", {"n_layer": 4, "d_model": 768, "n_head": 12, "d_inner": 3072}, None),
    "layoutlm": ("LayoutLMModel", "LayoutLMConfig", {"num_hidden_layers": 4}, None),
    "gpt2": ("GPT2Model", "GPT2Config", {"n_layer": 4, "use_cache": False}, None),
    "gpt_neo": ("GPTNeoModel", "GPTNeoConfig",
                {"hidden_size": 768, "num_layers": 4, "num_heads": 12, "attention_types": [[["global", "local"], 2]], "use_cache": False}, None),
    "gptj": ("GPTJModel", "GPTJConfig", {"n_embd": 768, "n_layer": 4, "n_head": 12, "rotary_dim": 32, "use_cache": False}, None),
    "llama": ("LlamaModel", "LlamaConfig",
              {"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 2048, "use_cache": False}, None),
    "opt": ("OPTModel", "OPTConfig", {"num_hidden_layers": 4, "use_cache": False}, None),
    "bloom": ("BloomModel", "BloomConfig", {"hidden_size": 768, "n_layer": 4, "n_head": 12, "vocab_size": 30000, "use_cache": False}, None),
    "t5_encoder": ("T5EncoderModel", "T5Config", {"use_cache": False}, None),
    "bart": ("BartModel", "BartConfig", {"encoder_layers": 3, "decoder_layers": 3, "d_model": 768, "use_cache": False}, None),
    "clip_text": ("CLIPTextModel", "CLIPTextConfig", {"max_position_embeddings": 128, "num_hidden_layers": 4}, None),
    "vit": ("ViTModel", "ViTConfig", {"num_hidden_layers": 4}, [1, 3, 224, 224]),
    "deit": ("DeiTModel", "DeiTConfig", {"num_hidden_layers": 4}, [1, 3, 224, 224]),
    "beit": ("BeitModel", "BeitConfig", {"num_hidden_layers": 4, "use_relative_position_bias": True}, [1, 3, 224, 224]),
    "clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", {"num_hidden_layers": 4}, [1, 3, 224, 224]),
    "swin": ("SwinModel", "SwinConfig", {}, [1, 3, 224, 224]),
    "swinv2": ("Swinv2Model", "Swinv2Config", {"window_size": 8, "image_size": 256}, [1, 3, 256, 256]),
    "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", {}, [1, 3, 256, 256]),
    "convnext": ("ConvNextModel", "ConvNextConfig", {}, [1, 3, 224, 224]),
    "resnet": ("ResNetModel", "ResNetConfig", {}, [1, 3, 224, 224]),
    "regnet": ("RegNetModel", "RegNetConfig", {}, [1, 3, 224, 224]),
    "poolformer": ("PoolFormerModel", "PoolFormerConfig", {}, [1, 3, 224, 224]),
    "efficientnet": ("EfficientNetModel", "EfficientNetConfig",
                     {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}, [1, 3, 224, 224]),
    "mobilenet_v1": ("MobileNetV1Model", "MobileNetV1Config", {}, [1, 3, 224, 224]),
    "mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {}, [1, 3, 224, 224]),
    "mobilevit": ("MobileViTModel", "MobileViTConfig", {}, [1, 3, 256, 256]),
    "levit": ("LevitModel", "LevitConfig", {}, [1, 3, 224, 224]),
    "cvt": ("CvtModel", "CvtConfig", {"depth": [1, 2, 4]}, [1, 3, 224, 224]),
    "van": ("VanModel", "VanConfig", {"depths": [2, 2, 4, 2]}, [1, 3, 224, 224]),
    "glpn": ("GLPNForDepthEstimation", "GLPNConfig", {}, [1, 3, 192, 256]),
    "dpt": ("DPTForDepthEstimation", "DPTConfig", {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]}, [1, 3, 384, 384]),
    "yolos": ("YolosModel", "YolosConfig", {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [256, 256]},
              [1, 3, 256, 256]),
    "detr": ("DetrForObjectDetection", "DetrConfig",
             {"use_timm_backbone": False, "use_pretrained_backbone": False, "encoder_layers": 3, "decoder_layers": 3}, [1, 3, 256, 256]),
    "swin2sr": ("Swin2SRForImageSuperResolution", "Swin2SRConfig", {"embed_dim": 60, "depths": [2, 2], "num_heads": [6, 6]}, [1, 3, 64, 64]),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", {"num_hidden_layers": 4}, [1, 16000]),
    "hubert": ("HubertModel", "HubertConfig", {"num_hidden_layers": 4}, [1, 16000]),
    "whisper_encoder": ("WhisperModel.encoder", "WhisperConfig", {"encoder_layers": 2, "decoder_layers": 1}, [1, 80, 3000]),
    "audio_spectrogram": ("ASTModel", "ASTConfig", {"num_hidden_layers": 2, "max_length": 512}, [1, 512, 128]),
    "time_series_bert_3d": ("VideoMAEModel", "VideoMAEConfig", {"num_hidden_layers": 2, "num_frames": 4, "image_size": 112}, [1, 4, 3, 112, 112]),
    "rembert": ("RemBertModel", "RemBertConfig",
        {"num_hidden_layers": 4, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30000}, None),
    "mpnet": ("MPNetModel", "MPNetConfig", {"num_hidden_layers": 4}, None),
    "esm": ("EsmModel", "EsmConfig", {"num_hidden_layers": 4, "vocab_size": 1000, "pad_token_id": 1, "position_embedding_type": "rotary"}, None),
    "xlm": ("XLMModel", "XLMConfig", {"n_layers": 4, "emb_dim": 768, "n_heads": 12}, None),
    "ctrl": ("CTRLModel", "CTRLConfig", {"n_layer": 4, "n_embd": 512, "dff": 2048, "n_head": 8, "vocab_size": 30000, "use_cache": False}, None),
    "openai_gpt": ("OpenAIGPTModel", "OpenAIGPTConfig", {"n_layer": 4}, None),
    "gpt_bigcode": ("GPTBigCodeModel", "GPTBigCodeConfig", {"n_layer": 4, "use_cache": False}, None),
    "gpt_neox": ("GPTNeoXModel", "GPTNeoXConfig",
        {"num_hidden_layers": 4, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30000, "use_cache": False}, None),
    "codegen": ("CodeGenModel", "CodeGenConfig", {"n_layer": 4, "n_embd": 512, "n_head": 8, "rotary_dim": 32, "use_cache": False}, None),
    "xglm": ("XGLMModel", "XGLMConfig",
        {"num_layers": 4, "d_model": 512, "attention_heads": 8, "ffn_dim": 2048, "vocab_size": 30000, "use_cache": False}, None),
    "biogpt": ("BioGptModel", "BioGptConfig",
        {"num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "use_cache": False}, None),
    "mbart": ("MBartModel", "MBartConfig",
        {"encoder_layers": 3, "decoder_layers": 3, "d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "vocab_size": 30000,
         "use_cache": False}, None),
    "led": ("LEDModel", "LEDConfig",
        {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "attention_window": 64,
         "vocab_size": 30000, "use_cache": False}, None),
    "long_t5": ("LongT5EncoderModel", "LongT5Config", {"num_layers": 4, "use_cache": False}, None),
    "mt5_encoder": ("MT5EncoderModel", "MT5Config", {"num_layers": 4, "use_cache": False, "vocab_size": 30000}, None),
    "canine": ("CanineModel", "CanineConfig", {"num_hidden_layers": 4}, None),
    "roformer": ("RoFormerModel", "RoFormerConfig", {"num_hidden_layers": 4}, None),
    "ibert": ("IBertModel", "IBertConfig", {"num_hidden_layers": 2}, None),
    "tapas": ("TapasModel", "TapasConfig", {"num_hidden_layers": 4}, None),
    "yoso": ("YosoModel", "YosoConfig", {"num_hidden_layers": 4, "use_expectation": True}, None),
    "xmod": ("XmodModel", "XmodConfig", {"num_hidden_layers": 4, "default_language": "en_XX"}, None),
    "bit": ("BitModel", "BitConfig", {}, [1, 3, 224, 224]),
    "donut_swin": ("DonutSwinModel", "DonutSwinConfig", {}, [1, 3, 224, 224]),
    "efficientformer": ("EfficientFormerModel", "EfficientFormerConfig", {}, [1, 3, 224, 224]),
    "imagegpt": ("ImageGPTModel", "ImageGPTConfig", {"n_layer": 4, "use_cache": False, "vocab_size": 1000}, None),
    "timesformer": ("TimesformerModel", "TimesformerConfig", {"num_hidden_layers": 2, "num_frames": 4, "image_size": 112}, [1, 4, 3, 112, 112]),
    "vit_mae": ("ViTMAEModel", "ViTMAEConfig", {"num_hidden_layers": 4, "mask_ratio": 0.0}, [1, 3, 224, 224]),
    "convnextv2": ("ConvNextV2Model", "ConvNextV2Config", {}, [1, 3, 224, 224]),
    "focalnet": ("FocalNetModel", "FocalNetConfig", {}, [1, 3, 224, 224]),
    "mgp_str": ("MgpstrModel", "MgpstrConfig", {"num_hidden_layers": 4}, [1, 3, 32, 128]),
    "blip_vision": ("BlipVisionModel", "BlipVisionConfig", {"num_hidden_layers": 4, "image_size": 224}, [1, 3, 224, 224]),
    "groupvit_vision": ("GroupViTVisionModel", "GroupViTVisionConfig", {"depths": [2, 1, 1]}, [1, 3, 224, 224]),
    "sew": ("SEWModel", "SEWConfig", {"num_hidden_layers": 2}, [1, 16000]),
    "wavlm": ("WavLMModel", "WavLMConfig", {"num_hidden_layers": 2}, [1, 16000]),
    "data2vec_audio": ("Data2VecAudioModel", "Data2VecAudioConfig", {"num_hidden_layers": 2}, [1, 16000]),
    "wav2vec2_conformer": ("Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig",
        {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}, [1, 16000]),
    "speech_to_text_encoder": ("Speech2TextModel.encoder", "Speech2TextConfig", {"encoder_layers": 3}, [1, 200, 80]),
    "xclip_vision": ("XCLIPVisionModel", "XCLIPVisionConfig", {"num_hidden_layers": 2, "num_frames": 4}, [4, 3, 224, 224]),
    "data2vec_vision": ("Data2VecVisionModel", "Data2VecVisionConfig", {"num_hidden_layers": 4, "use_relative_position_bias": True}, [1, 3, 224, 224]),
    "ernie_m": ("ErnieMModel", "ErnieMConfig", {"num_hidden_layers": 4, "vocab_size": 30000}, None),
    "flaubert": ("FlaubertModel", "FlaubertConfig", {"n_layers": 4, "emb_dim": 768, "n_heads": 12}, None),
    "flava_image": ("FlavaImageModel", "FlavaImageConfig", {"num_hidden_layers": 4}, [1, 3, 224, 224]),
    "layoutlmv3": ("LayoutLMv3Model", "LayoutLMv3Config", {"num_hidden_layers": 4}, None),
    "lilt": ("LiltModel", "LiltConfig", {"num_hidden_layers": 4}, None),
    "luke": ("LukeModel", "LukeConfig", {"num_hidden_layers": 4, "vocab_size": 30000, "entity_vocab_size": 1000}, None),
    "markuplm": ("MarkupLMModel", "MarkupLMConfig", {"num_hidden_layers": 4}, None),
    "nezha": ("NezhaModel", "NezhaConfig", {"num_hidden_layers": 4}, None),
    "roc_bert": ("RoCBertModel", "RoCBertConfig", {"num_hidden_layers": 4}, None),
    "bert_lm": ("BertForMaskedLM", "BertConfig", {"num_hidden_layers": 4}, None),
    "gpt2_lm": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 2, "use_cache": False}, None),
    "open_llama": ("OpenLlamaModel", "OpenLlamaConfig",
        {"num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 30000, "use_cache": False}, None),
    "mega": ("MegaModel", "MegaConfig", {"num_hidden_layers": 4, "hidden_size": 256, "chunk_size": -1, "use_cache": False}, None),
    "perceiver": ("PerceiverForMaskedLM", "PerceiverConfig",
        {"num_latents": 64, "d_latents": 512, "num_self_attends_per_block": 4, "max_position_embeddings": 128, "vocab_size": 1000}, None),
    "rwkv": ("RwkvModel", "RwkvConfig", {"num_hidden_layers": 4, "hidden_size": 512, "vocab_size": 30000, "use_cache": False}, None),
    "switch_transformers": ("SwitchTransformersEncoderModel", "SwitchTransformersConfig",
        {"num_layers": 4, "d_model": 512, "num_heads": 8, "use_cache": False}, None),
    "transfo_xl": ("TransfoXLModel", "TransfoXLConfig",
        {"n_layer": 4, "d_model": 512, "d_embed": 512, "n_head": 8, "d_head": 64, "d_inner": 2048, "cutoffs": [2000, 4000, 20000], "vocab_size": 30000,
         "mem_len": 128}, None),
    "m2m_100_encoder": ("M2M100Model.encoder", "M2M100Config",
        {"encoder_layers": 3, "decoder_layers": 1, "d_model": 512, "encoder_attention_heads": 8, "vocab_size": 30000}, None),
    "pegasus_x_encoder": ("PegasusXModel.encoder", "PegasusXConfig",
        {"encoder_layers": 3, "decoder_layers": 1, "d_model": 512, "encoder_attention_heads": 8, "block_size": 64, "num_global_tokens": 16,
         "vocab_size": 30000}, None),
    "plbart_encoder": ("PLBartModel.encoder", "PLBartConfig", {"encoder_layers": 3, "decoder_layers": 1}, None),
    "prophetnet_encoder": ("ProphetNetEncoder", "ProphetNetConfig",
        {"num_encoder_layers": 3, "hidden_size": 512, "num_encoder_attention_heads": 8}, None),
    "fsmt": ("FSMTModel", "FSMTConfig",
        {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "src_vocab_size": 30000,
         "tgt_vocab_size": 30000, "use_cache": False}, None),
    "mvp": ("MvpModel", "MvpConfig",
        {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "vocab_size": 30000,
         "use_cache": False}, None),
    "long_t5_global": ("LongT5EncoderModel", "LongT5Config",
        {"num_layers": 4, "encoder_attention_type": "transient-global", "use_cache": False}, None),
    "groupvit_text": ("GroupViTTextModel", "GroupViTTextConfig", {"num_hidden_layers": 4, "max_position_embeddings": 128}, None),
    "unispeech": ("UniSpeechModel", "UniSpeechConfig", {"num_hidden_layers": 2}, [1, 16000]),
    "wav2vec2_xvector": ("Wav2Vec2ForXVector", "Wav2Vec2Config", {"num_hidden_layers": 2}, [1, 16000]),
    "mctct": ("MCTCTModel", "MCTCTConfig", {"num_hidden_layers": 2}, [1, 200, 80]),
    "owlvit_vision": ("OwlViTVisionModel", "OwlViTVisionConfig", {"num_hidden_layers": 4, "image_size": 224}, [1, 3, 224, 224]),
    "align_vision": ("AlignVisionModel", "AlignVisionConfig",
        {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}, [1, 3, 224, 224]),
    "blip_2_vision": ("Blip2VisionModel", "Blip2VisionConfig",
        {"num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048}, [1, 3, 224, 224]),
    "git_vision": ("GitVisionModel", "GitVisionConfig", {"num_hidden_layers": 4}, [1, 3, 224, 224]),
    "sam_vision": ("SamModel.vision_encoder", "SamConfig",
        {"vision_config": {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 3, "image_size": 512, "global_attn_indexes": [3],
                           "mlp_dim": 768, "output_channels": 128}}, [1, 3, 512, 512]),
    "swin_backbone": ("SwinBackbone", "SwinConfig", {"out_features": ["stage1", "stage2", "stage3", "stage4"]}, [1, 3, 224, 224]),
    "upernet": ("UperNetForSemanticSegmentation", "UperNetConfig", {"auxiliary_in_channels": 1024}, [1, 3, 224, 224]),
    "maskformer": ("MaskFormerModel", "MaskFormerConfig", {}, [1, 3, 224, 224]),
    "mask2former": ("Mask2FormerModel", "Mask2FormerConfig", {"decoder_layers": 3}, [1, 3, 224, 224]),
    "conditional_detr": ("ConditionalDetrModel", "ConditionalDetrConfig",
        {"use_timm_backbone": False, "use_pretrained_backbone": False, "encoder_layers": 2, "decoder_layers": 2}, [1, 3, 256, 256]),
    "deta": ("DetaModel", "DetaConfig", {"encoder_layers": 2, "decoder_layers": 2, "two_stage": False}, [1, 3, 256, 256]),
    "table_transformer": ("TableTransformerModel", "TableTransformerConfig",
        {"use_timm_backbone": False, "use_pretrained_backbone": False, "encoder_layers": 2, "decoder_layers": 2}, [1, 3, 256, 256]),
}


def monai(name: str, **arguments):
    def make():
        import monai.networks.nets
        return getattr(monai.networks.nets, name)(**arguments)
    return make


def dints():
    from monai.networks import nets
    space = nets.TopologyInstance(arch_code=None, channel_mul=0.5, num_blocks=6, num_depths=3, use_downsample=True, spatial_dims=2, device="cpu")
    return nets.DiNTS(space, 1, 2, use_downsample=True, spatial_dims=2)


def facenet(name: str):
    def make():
        import facenet_pytorch
        from facenet_pytorch.models import mtcnn
        if name == "InceptionResnetV1":
            return facenet_pytorch.InceptionResnetV1(pretrained=None, classify=True, num_classes=100)
        return getattr(mtcnn, name)(pretrained=False)
    return make


def segmentation(name: str, encoder: str):
    def make():
        import segmentation_models_pytorch
        return getattr(segmentation_models_pytorch, name)(encoder, encoder_weights=None)
    return make


def yolo(name: str):
    """What yolov5 imports besides, to draw and to train, is there in name only."""
    def make():
        class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            names = {"cv2", "pandas", "matplotlib", "seaborn", "ultralytics", "thop", "git", "psutil", "IPython", "fire", "sahi", "roboflow", "boto3"}

            def find_spec(self, fullname, path, target=None):
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname.split(".")[0] in self.names else None

            def create_module(self, spec):
                module = unittest.mock.MagicMock(__path__=[], __spec__=spec, __version__="8.0.100")
                module.__name__ = spec.name
                return module

            def exec_module(self, module):
                pass

        sys.meta_path.append(Absent())
        import yolov5.models
        from yolov5.models.yolo import DetectionModel
        model = DetectionModel(os.path.join(os.path.dirname(yolov5.models.__file__), f"{name}.yaml"))
        return model.fuse() if hasattr(model, "fuse") else model
    return make


def resolution(path: str, **arguments):
    """A super-resolution network of spandrel."""
    def make():
        module, name = path.rsplit(".", 1)
        module = importlib.import_module(f"spandrel.architectures.{module}")
        return getattr(module, name)(**arguments)
    return make


def espcn():
    from torch import nn
    return nn.Sequential(nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(), nn.Conv2d(32, 9, 3, padding=1),
                         nn.PixelShuffle(3))


def fsrcnn():
    from torch import nn
    middle = [layer for _ in range(4) for layer in (nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12))]
    return nn.Sequential(nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12), *middle, nn.Conv2d(12, 56, 1), nn.PReLU(56),
                         nn.ConvTranspose2d(56, 1, 9, 3, 4, 2))


def edsr():
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(True), nn.Conv2d(64, 64, 3, padding=1))

        def forward(self, x):
            return x + self.body(x) * 0.1

    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *[Block() for _ in range(8)], nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2),
                         nn.Conv2d(64, 3, 3, padding=1))


OTHERS = {
    "monai": {
        "unet_3d": (monai("UNet", spatial_dims=3, in_channels=1, out_channels=2, channels=(8, 16, 32, 64), strides=(2, 2, 2), num_res_units=2),
                    [1, 1, 64, 64, 64]),
        "unet_2d": (monai("UNet", spatial_dims=2, in_channels=1, out_channels=2, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2),
                    [1, 1, 256, 256]),
        "basic_unet": (monai("BasicUNet", spatial_dims=2, in_channels=1, out_channels=2), [1, 1, 128, 128]),
        "attention_unet": (monai("AttentionUnet", spatial_dims=2, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2)),
                           [1, 1, 128, 128]),
        "dyn_unet": (monai("DynUNet", spatial_dims=2, in_channels=1, out_channels=2, kernel_size=[3, 3, 3, 3], strides=[1, 2, 2, 2],
                           upsample_kernel_size=[2, 2, 2]), [1, 1, 128, 128]),
        "segresnet_3d": (monai("SegResNet", spatial_dims=3, in_channels=1, out_channels=2, init_filters=8), [1, 1, 32, 32, 32]),
        "segresnet_2d": (monai("SegResNet", spatial_dims=2, in_channels=1, out_channels=2, init_filters=16), [1, 1, 128, 128]),
        "vnet": (monai("VNet", spatial_dims=3, in_channels=1, out_channels=2), [1, 1, 32, 32, 32]),
        "unetr": (monai("UNETR", in_channels=1, out_channels=2, img_size=(64, 64), spatial_dims=2, feature_size=16, hidden_size=192, mlp_dim=768,
                        num_heads=6), [1, 1, 64, 64]),
        "swin_unetr": (monai("SwinUNETR", img_size=(64, 64), in_channels=1, out_channels=2, feature_size=24, spatial_dims=2), [1, 1, 64, 64]),
        "flexible_unet": (monai("FlexibleUNet", in_channels=3, out_channels=2, backbone="efficientnet-b0"), [1, 3, 128, 128]),
        "hovernet": (monai("HoVerNet", mode="fast", out_classes=5), [1, 3, 256, 256]),
        "high_res_net": (monai("HighResNet", spatial_dims=2, in_channels=1, out_channels=2), [1, 1, 96, 96]),
        "densenet121": (monai("DenseNet121", spatial_dims=2, in_channels=1, out_channels=2), [1, 1, 128, 128]),
        "seresnet50": (monai("SEResNet50", spatial_dims=2, in_channels=3, num_classes=2), [1, 3, 128, 128]),
        "basic_unet_plus_plus": (monai("BasicUNetPlusPlus", spatial_dims=2, in_channels=1, out_channels=2), [1, 1, 128, 128]),
        "basic_unet_3d": (monai("BasicUNet", spatial_dims=3, in_channels=1, out_channels=2, features=(8, 8, 16, 32, 64, 8)), [1, 1, 32, 32, 32]),
        "dyn_unet_3d": (monai("DynUNet", spatial_dims=3, in_channels=1, out_channels=3, kernel_size=[3, 3, 3], strides=[1, 2, 2],
                              upsample_kernel_size=[2, 2], filters=[16, 32, 64]), [1, 1, 32, 32, 32]),
        "ahnet": (monai("AHNet", spatial_dims=2, in_channels=1, out_channels=2, psp_block_num=0, upsample_mode="bilinear"), [1, 1, 128, 128]),
        "generator": (monai("Generator", latent_shape=(64,), start_shape=(64, 8, 8), channels=(32, 16, 1), strides=(2, 2, 1)), [1, 64]),
        "auto_encoder": (monai("AutoEncoder", spatial_dims=2, in_channels=1, out_channels=1, channels=(16, 32, 64), strides=(2, 2, 2)),
                         [1, 1, 128, 128]),
        "unetr_3d": (monai("UNETR", in_channels=1, out_channels=2, img_size=(64, 64, 64), feature_size=8, hidden_size=192, mlp_dim=768, num_heads=6),
                     [1, 1, 64, 64, 64]),
        "swin_unetr_3d": (monai("SwinUNETR", img_size=(64, 64, 64), in_channels=1, out_channels=2, feature_size=12), [1, 1, 64, 64, 64]),
        "resnet18_3d": (monai("ResNet", block="basic", layers=[2, 2, 2, 2], block_inplanes=[32, 64, 128, 256], n_input_channels=1, num_classes=2),
                        [1, 1, 32, 64, 64]),
        "densenet121_3d": (monai("DenseNet121", spatial_dims=3, in_channels=1, out_channels=2), [1, 1, 48, 48, 48]),
        "efficientnet_3d": (monai("EfficientNetBN", model_name="efficientnet-b0", pretrained=False, spatial_dims=3, in_channels=1, num_classes=2),
                            [1, 1, 48, 48, 48]),
        "vit_auto_encoder": (monai("ViTAutoEnc", in_channels=1, img_size=(96, 96), patch_size=(16, 16), spatial_dims=2, hidden_size=192, mlp_dim=768,
                                   num_layers=4, num_heads=6), [1, 1, 96, 96]),
        "local_net": (monai("LocalNet", spatial_dims=3, in_channels=2, num_channel_initial=8, extract_levels=[0, 1, 2], out_channels=3,
                            out_kernel_initializer="zeros", out_activation=None), [1, 2, 32, 32, 32]),
        "high_res_net_3d": (monai("HighResNet", spatial_dims=3, in_channels=1, out_channels=2), [1, 1, 24, 24, 24]),
        "vit": (monai("ViT", in_channels=1, img_size=(96, 96), patch_size=(16, 16), spatial_dims=2, classification=True, hidden_size=192, mlp_dim=768,
                      num_layers=6, num_heads=6), [1, 1, 96, 96]),
        "vit_3d": (monai("ViT", in_channels=1, img_size=(48, 48, 48), patch_size=(16, 16, 16), hidden_size=192, mlp_dim=768, num_layers=4, num_heads=6),
                   [1, 1, 48, 48, 48]),
        "reg_unet": (monai("RegUNet", spatial_dims=2, in_channels=2, num_channel_initial=8, depth=3, out_channels=2, out_kernel_initializer="zeros"),
                     [1, 2, 64, 64]),
        "global_net": (monai("GlobalNet", image_size=[64, 64], spatial_dims=2, in_channels=2, num_channel_initial=8, depth=3), [1, 2, 64, 64]),
        "var_auto_encoder": (monai("VarAutoEncoder", spatial_dims=2, in_shape=(1, 64, 64), out_channels=1, latent_size=16, channels=(16, 32, 64),
                                   strides=(2, 2, 2)), [1, 1, 64, 64]),
        "auto_encoder_3d": (monai("AutoEncoder", spatial_dims=3, in_channels=1, out_channels=1, channels=(8, 16, 32), strides=(2, 2, 2)),
                            [1, 1, 32, 32, 32]),
        "fully_connected": (monai("FullyConnectedNet", in_channels=256, out_channels=10, hidden_channels=[128, 64]), [4, 256]),
        "critic": (monai("Critic", in_shape=(1, 64, 64), channels=(8, 16, 32), strides=(2, 2, 2)), [1, 1, 64, 64]),
        "regressor": (monai("Regressor", in_shape=(1, 64, 64), out_shape=(2,), channels=(8, 16, 32), strides=(2, 2, 2)), [1, 1, 64, 64]),
        "segresnet_ds": (monai("SegResNetDS", spatial_dims=3, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 2, 2)), [1, 1, 32, 32, 32]),
        "segresnet_vae": (monai("SegResNetVAE", input_image_size=(64, 64), spatial_dims=2, init_filters=8, in_channels=1, out_channels=2),
                          [1, 1, 64, 64]),
        "mil": (monai("MILModel", num_classes=2, pretrained=False, mil_mode="att"), [1, 4, 3, 64, 64]),
        "mil_trans": (monai("MILModel", num_classes=2, pretrained=False, mil_mode="att_trans"), [1, 4, 3, 64, 64]),
        "senet154": (monai("SENet154", spatial_dims=2, in_channels=3, num_classes=2), [1, 3, 64, 64]),
        "seresnext50": (monai("SEResNext50", spatial_dims=2, in_channels=3, num_classes=2), [1, 3, 128, 128]),
        "seresnet50_3d": (monai("SEResNet50", spatial_dims=3, in_channels=1, num_classes=2), [1, 1, 32, 32, 32]),
        "resnet50_3d": (monai("ResNet", block="bottleneck", layers=[3, 4, 6, 3], block_inplanes=[16, 32, 64, 128], n_input_channels=1, num_classes=2),
                        [1, 1, 32, 64, 64]),
        "vnet_2d": (monai("VNet", spatial_dims=2, in_channels=1, out_channels=2), [1, 1, 128, 128]),
        "attention_unet_3d": (monai("AttentionUnet", spatial_dims=3, in_channels=1, out_channels=2, channels=(8, 16, 32), strides=(2, 2)),
                              [1, 1, 32, 32, 32]),
        "basic_unet_plus_plus_3d": (monai("BasicUNetPlusPlus", spatial_dims=3, in_channels=1, out_channels=2, features=(8, 8, 16, 32, 64, 8)),
                                    [1, 1, 32, 32, 32]),
        "ahnet_3d": (monai("AHNet", spatial_dims=3, in_channels=1, out_channels=2, psp_block_num=2, upsample_mode="nearest"), [1, 1, 64, 64, 32]),
        "unet_1d": (monai("UNet", spatial_dims=1, in_channels=2, out_channels=2, channels=(16, 32, 64), strides=(2, 2), num_res_units=2), [1, 2, 4096]),
        "unet_group_norm": (monai("UNet", spatial_dims=2, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2), act="GELU",
                                  norm=("group", {"num_groups": 4}), kernel_size=5, up_kernel_size=5), [1, 1, 128, 128]),
        "swin_unetr_batch_norm": (monai("SwinUNETR", img_size=(96, 96), in_channels=3, out_channels=4, feature_size=12, spatial_dims=2,
                                        norm_name="batch"), [1, 3, 96, 96]),
        "dints": (dints, [1, 1, 128, 128]),
    },
    "facenet": {
        "inception_resnet_v1": (facenet("InceptionResnetV1"), [1, 3, 160, 160]),
        "mtcnn_p": (facenet("PNet"), [1, 3, 120, 160]),
        "mtcnn_r": (facenet("RNet"), [16, 3, 24, 24]),
        "mtcnn_o": (facenet("ONet"), [8, 3, 48, 48]),
    },
    "segmentation": {
        "unet_resnet18": (segmentation("Unet", "resnet18"), [1, 3, 224, 224]),
        "unetplusplus_mobilenet_v2": (segmentation("UnetPlusPlus", "mobilenet_v2"), [1, 3, 224, 224]),
        "manet_resnet18": (segmentation("MAnet", "resnet18"), [1, 3, 224, 224]),
        "linknet_resnet18": (segmentation("Linknet", "resnet18"), [1, 3, 224, 224]),
        "fpn_efficientnet-b0": (segmentation("FPN", "efficientnet-b0"), [1, 3, 224, 224]),
        "pspnet_resnet18": (segmentation("PSPNet", "resnet18"), [1, 3, 224, 224]),
        "pan_resnet18": (segmentation("PAN", "resnet18"), [1, 3, 256, 256]),
        "deeplabv3_mobilenet_v2": (segmentation("DeepLabV3", "mobilenet_v2"), [1, 3, 224, 224]),
        "deeplabv3plus_resnet18": (segmentation("DeepLabV3Plus", "resnet18"), [1, 3, 224, 224]),
        "unet_mit_b0": (segmentation("Unet", "mit_b0"), [1, 3, 224, 224]),
        "unet_efficientnet-b3": (segmentation("Unet", "efficientnet-b3"), [1, 3, 224, 224]),
        "unet_densenet121": (segmentation("Unet", "densenet121"), [1, 3, 224, 224]),
        "unet_vgg11_bn": (segmentation("Unet", "vgg11_bn"), [1, 3, 128, 128]),
        "fpn_se_resnet50": (segmentation("FPN", "se_resnet50"), [1, 3, 224, 224]),
        "fpn_dpn68": (segmentation("FPN", "dpn68"), [1, 3, 224, 224]),
        "fpn_resnext50_32x4d": (segmentation("FPN", "resnext50_32x4d"), [1, 3, 224, 224]),
        "linknet_inceptionresnetv2": (segmentation("Linknet", "inceptionresnetv2"), [1, 3, 224, 224]),
        "unet_inceptionv4": (segmentation("Unet", "inceptionv4"), [1, 3, 224, 224]),
        "unet_xception": (segmentation("Unet", "xception"), [1, 3, 224, 224]),
        "deeplabv3plus_timm-mobilenetv3": (segmentation("DeepLabV3Plus", "timm-mobilenetv3_large_100"), [1, 3, 224, 224]),
        "unetplusplus_timm-regnetx_002": (segmentation("UnetPlusPlus", "timm-regnetx_002"), [1, 3, 224, 224]),
        "fpn_timm-resnest14d": (segmentation("FPN", "timm-resnest14d"), [1, 3, 256, 256]),
        "unet_timm-gernet_s": (segmentation("Unet", "timm-gernet_s"), [1, 3, 224, 224]),
        "unet_mobileone_s0": (segmentation("Unet", "mobileone_s0"), [1, 3, 224, 224]),
        "unet_timm-skresnet18": (segmentation("Unet", "timm-skresnet18"), [1, 3, 192, 192]),
        "unet_timm-res2net50": (segmentation("Unet", "timm-res2net50_26w_4s"), [1, 3, 128, 128]),
        "unet_dpn92": (segmentation("Unet", "dpn92"), [1, 3, 96, 96]),
        "manet_mobilenet_v2": (segmentation("MAnet", "mobilenet_v2"), [1, 3, 192, 192]),
        "pan_resnext50_32x4d": (segmentation("PAN", "resnext50_32x4d"), [1, 3, 192, 192]),
        "fpn_mit_b1": (segmentation("FPN", "mit_b1"), [1, 3, 192, 192]),
        "deeplabv3plus_timm-efficientnet-b0": (segmentation("DeepLabV3Plus", "timm-efficientnet-b0"), [1, 3, 192, 192]),
        "deeplabv3_timm-gernet_s": (segmentation("DeepLabV3", "timm-gernet_s"), [1, 3, 192, 192]),
        "linknet_timm-regnety_002": (segmentation("Linknet", "timm-regnety_002"), [1, 3, 192, 192]),
        "unetplusplus_se_resnext50_32x4d": (segmentation("UnetPlusPlus", "se_resnext50_32x4d"), [1, 3, 96, 96]),
    },
    "yolov5": {
        "yolov5n": (yolo("yolov5n"), [1, 3, 320, 320]),
        "yolov5s": (yolo("yolov5s"), [1, 3, 320, 320]),
        "yolov5n6": (yolo("hub/yolov5n6"), [1, 3, 320, 320]),
        "yolov5s-ghost": (yolo("hub/yolov5s-ghost"), [1, 3, 320, 320]),
        "yolov5s-transformer": (yolo("hub/yolov5s-transformer"), [1, 3, 320, 320]),
        "yolov5s-bifpn": (yolo("hub/yolov5-bifpn"), [1, 3, 192, 192]),
        "yolov5-p34": (yolo("hub/yolov5-p34"), [1, 3, 320, 320]),
        "yolov5n-seg": (yolo("segment/yolov5n-seg"), [1, 3, 320, 320]),
        "yolov3-tiny": (yolo("hub/yolov3-tiny"), [1, 3, 320, 320]),
        "yolov3-spp": (yolo("hub/yolov3-spp"), [1, 3, 256, 256]),
        "yolov5-p2": (yolo("hub/yolov5-p2"), [1, 3, 256, 256]),
        "yolov5-p6": (yolo("hub/yolov5-p6"), [1, 3, 256, 256]),
        "yolov5-fpn": (yolo("hub/yolov5-fpn"), [1, 3, 256, 256]),
        "yolov5-panet": (yolo("hub/yolov5-panet"), [1, 3, 256, 256]),
        "yolov5s-leaky": (yolo("hub/yolov5s-LeakyReLU"), [1, 3, 256, 256]),
    },
    "resolution": {
        "espcn": (espcn, [1, 1, 128, 128]),
        "fsrcnn": (fsrcnn, [1, 1, 128, 128]),
        "edsr": (edsr, [1, 3, 96, 96]),
        "rrdb": (resolution("ESRGAN.__arch.RRDB.RRDBNet", in_nc=3, out_nc=3, num_filters=64, num_blocks=2, scale=4), [1, 3, 48, 48]),
        "srvgg_compact": (resolution("Compact.__arch.SRVGG.SRVGGNetCompact", num_feat=64, num_conv=16), [1, 3, 64, 64]),
        "swinir_light": (resolution("SwinIR.__arch.SwinIR.SwinIR", upscale=2, img_size=48, window_size=8, depths=[2, 2], embed_dim=60, num_heads=[6, 6],
                                    upsampler="pixelshuffledirect"), [1, 3, 48, 48]),
        "dncnn": (resolution("DnCNN.__arch.network_dncnn.DnCNN", in_nc=1, out_nc=1, nc=64, nb=8), [1, 1, 96, 96]),
        "nafnet": (resolution("NAFNet.__arch.NAFNet_arch.NAFNet", width=16, middle_blk_num=1, enc_blk_nums=[1, 1, 2], dec_blk_nums=[1, 1, 1]),
                   [1, 3, 96, 96]),
        "rcan": (resolution("RCAN.__arch.rcan_arch.RCAN", scale=2, n_resgroups=2, n_resblocks=4), [1, 3, 48, 48]),
        "fftformer": (resolution("FFTformer.__arch.fftformer_arch.FFTformer", dim=24, num_blocks=[1, 1, 1], num_refinement_blocks=1), [1, 3, 64, 64]),
        "safmn": (resolution("SAFMN.__arch.safmn.SAFMN", dim=36), [1, 3, 64, 64]),
        "swin2sr_light": (resolution("Swin2SR.__arch.Swin2SR.Swin2SR", upscale=2, img_size=48, window_size=8, depths=[2, 2], embed_dim=60,
                                     num_heads=[6, 6], upsampler="pixelshuffledirect"), [1, 3, 48, 48]),
        "omni_sr": (resolution("OmniSR.__arch.OmniSR.OmniSR", num_feat=32, res_num=2), [1, 3, 64, 64]),
        "hat_light": (resolution("HAT.__arch.HAT.HAT", upscale=2, img_size=32, window_size=8, depths=[2], embed_dim=48, num_heads=[6],
                                 upsampler="pixelshuffle"), [1, 3, 32, 32]),
        "scunet": (resolution("SCUNet.__arch.SCUNet.SCUNet", config=[1, 1, 1, 1, 1, 1, 1], dim=64, input_resolution=64), [1, 3, 64, 64]),
        "plksr": (resolution("PLKSR.__arch.PLKSR.PLKSR", dim=32, n_blocks=4), [1, 3, 48, 48]),
        "upcunet": (resolution("RealCUGAN.__arch.upcunet_v3.UpCunet2x", pro=True), [1, 3, 48, 48]),
        "ditn": (resolution("DITN.__arch.DITN_Real.DITN_Real"), [1, 3, 32, 32]),
        "seemore": (resolution("SeemoRe.__arch.seemore_arch.SeemoRe"), [1, 3, 64, 64]),
        "mosr": (resolution("MoSR.__arch.mosr_arch.MoSR", dim=32, n_block=4), [1, 3, 48, 48]),
        "drunet": (resolution("DRUNet.__arch.network_unet.DRUNet", in_nc=4, out_nc=3, nc=[16, 32, 64, 128], nb=2), [1, 4, 64, 64]),
        "swift_srgan": (resolution("SwiftSRGAN.__arch.SwiftSRGAN.Generator", num_blocks=4, num_channels=32), [1, 3, 48, 48]),
        "span": (resolution("SPAN.__arch.span.SPAN", num_in_ch=3, num_out_ch=3, feature_channels=48, upscale=4), [1, 3, 64, 64]),
        "atd_light": (resolution("ATD.__arch.atd_arch.ATD", upscale=2, img_size=32, embed_dim=48, depths=(2, 2), num_heads=(4, 4), window_size=8,
                                 category_size=32, num_tokens=16, reducted_dim=8, upsampler="pixelshuffledirect"), [1, 3, 32, 32]),
        "craft": (resolution("CRAFT.__arch.CRAFT.CRAFT", embed_dim=48, depths=(2, 2), num_heads=(6, 6), window_size=16, upscale=2), [1, 3, 48, 48]),
        "dat_light": (resolution("DAT.__arch.DAT.DAT", img_size=32, embed_dim=60, split_size=(8, 16), depth=(2, 2), num_heads=(6, 6), expansion_factor=2,
                                 upscale=2, upsampler="pixelshuffledirect"), [1, 3, 32, 32]),
        "dctlsa": (resolution("DCTLSA.__arch.dctlsa.DCTLSA", nf=56, num_modules=6, upscale=2, num_head=8), [1, 3, 48, 48]),
        "drct": (resolution("DRCT.__arch.drct_arch.DRCT", img_size=32, embed_dim=60, depths=(2,), num_heads=(6,), window_size=8, upscale=2,
                            upsampler="pixelshuffle", gc=16), [1, 3, 32, 32]),
        "fbcnn": (resolution("FBCNN.__arch.FBCNN.FBCNN", nb=1), [1, 3, 64, 64]),
        "fdat": (resolution("FDAT.__arch.fdat.FDAT", scale=2, embed_dim=96, num_groups=1, depth_per_group=2, num_heads=3), [1, 3, 48, 48]),
        "grl_tiny": (resolution("GRL.__arch.grl.GRL", img_size=32, embed_dim=64, upscale=2, upsampler="pixelshuffledirect", depths=[2, 2],
                                num_heads_window=[2, 2], num_heads_stripe=[2, 2], window_size=8, stripe_size=[8, 8], stripe_groups=[None, None]),
                     [1, 3, 32, 32]),
        "hvi_cidnet": (resolution("HVICIDNet.__arch.cidnet.CIDNet"), [1, 3, 64, 64]),
        "mix_dehaze": (resolution("MixDehazeNet.__arch.MixDehazeNet.MixDehazeNet", depths=[1, 1, 2, 1, 1]), [1, 3, 96, 96]),
        "moesr": (resolution("MoESR.__arch.MoESR.MoESR", n_blocks=2, n_block=2), [1, 3, 48, 48]),
        "rgt": (resolution("RGT.__arch.rgt.RGT", img_size=32, embed_dim=60, depth=[2, 2], num_heads=[6, 6], upscale=2, split_size=[8, 8]), [1, 3, 32, 32]),
        "retinexformer": (resolution("RetinexFormer.__arch.retinexformer_arch.RetinexFormer", n_feat=24, stage=1, num_blocks=[1, 1, 1]), [1, 3, 96, 96]),
        "safmn_bcie": (resolution("SAFMNBCIE.__arch.safmn_bcie.SAFMN_BCIE", dim=32, n_blocks=2, num_layers=2), [1, 3, 64, 64]),
        "uformer": (resolution("Uformer.__arch.Uformer.Uformer", img_size=128, embed_dim=16, depths=[1] * 9), [1, 3, 128, 128]),
        "restoreformer": (resolution("RestoreFormer.__arch.restoreformer_arch.RestoreFormer", ch=32, embed_dim=64, z_channels=64, n_embed=256,
                                     resolution=128, attn_resolutions=(16,), ch_mult=(1, 2, 2, 4), head_size=4), [1, 3, 128, 128]),
        "gfpgan": (resolution("GFPGAN.__arch.gfpganv1_clean_arch.GFPGANv1Clean", out_size=128, channel_multiplier=1, narrow=0.5, different_w=True,
                              input_is_latent=True, num_mlp=2, sft_half=True), [1, 3, 128, 128]),
    },
}


def names() -> list:
    found = [f"timm-{version}/{name}" for version, text in TIMM.items() for name in text.split()]
    found += [f"transformers/{name}" for name in TRANSFORMERS]
    return found + [f"{family}/{name}" for family, models in OTHERS.items() for name in models]


def call_forward_alone() -> None:
    """Python functions that have a derivative of their own, which no file can hold, are what they compute."""
    import torch

    class Context:
        def save_for_backward(self, *_):
            pass

        mark_dirty = mark_non_differentiable = save_for_backward

    torch.autograd.Function.apply = classmethod(lambda function, *arguments: function.forward(Context(), *arguments))


def build(name: str):
    """The model and the shape of its input; words if the shape has no picture."""
    import torch
    family, _, name = name.partition("/")
    if family.startswith("timm-"):
        import timm
        assert timm.__version__ == family[len("timm-"):]
        model = timm.create_model(name, pretrained=False)
        return model, torch.randn(1, *model.default_cfg["input_size"])
    if family == "transformers":
        import transformers
        transformers.logging.set_verbosity_error()
        kind, config, settings, shape = TRANSFORMERS[name]
        kind, _, part = kind.partition(".")
        model = getattr(transformers, kind)(getattr(transformers, config)(torchscript=True, **settings))
        if part:
            model = getattr(model, part)
        return model, torch.randn(shape) if shape else torch.randint(3, 1000, (1, 128))
    make, shape = OTHERS[family][name]
    return make(), torch.rand(shape)


def randomise(model) -> None:
    """What begins as nothing (last scales of residuals, heads, biases) gets values, else its part of the model counts for nothing."""
    import torch
    for name, p in model.named_parameters():
        if p.numel() < 2 or not p.is_floating_point() or p.abs().max() > 1e-2:
            continue
        if p.dim() > 1 and min(p.shape) > 1:
            torch.nn.init.normal_(p, std=p[0].numel() ** -0.5)
        elif "bias" in name or "beta" in name:
            torch.nn.init.uniform_(p, -0.1, 0.1)
        else:
            torch.nn.init.uniform_(p, 0.1, 0.5)


def calibrate(model, x) -> None:
    """Batch norms get the statistics of what runs through them, so that activations have the size that they have in a trained network."""
    import torch
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.running_mean is not None]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the average of all
        norm.train()
    if norms:
        for _ in range(2):
            model(torch.cat([x, torch.randn_like(x)]))
    model.eval()


def flat(value) -> list:
    """All tensors of an answer, in order."""
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for item in items for tensor in flat(item)]


def only_tensors(model, x):
    """The model, with its tensors as the answer if it gives anything besides, which torch.jit.trace() refuses."""
    import torch

    class Tensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return tuple(flat(self.model(x)))

    def is_plain(value) -> bool:
        items = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else None
        return isinstance(value, torch.Tensor) if items is None else all(map(is_plain, items))

    return model if is_plain(model(x)) else Tensors()


def difference(answers, exact) -> float:
    """The largest of all tensors, each relative to its largest value; infinite where shapes or what is not finite differ."""
    import numpy
    if len(answers) != len(exact) or any(a.shape != b.shape for a, b in zip(answers, exact)):
        return float("inf")
    worst = 0.0
    for a, b in zip(answers, exact):
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        finite = numpy.isfinite(b)
        if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
            return float("inf")
        if finite.any():
            difference = abs(a[finite] - b[finite]).max() / max(abs(b[finite]).max(), 1e-30)
            worst = max(worst, float(difference if difference == difference else "inf"))
    return worst


def optimized_answers(file: str, x):
    """Those of PyTorch's optimized variants, which fold and sum in other orders than the model does."""
    import torch
    for optimize in (torch.jit.freeze, lambda module: torch.jit.optimize_for_inference(torch.jit.freeze(module))):
        try:
            yield [y.numpy() for y in flat(optimize(torch.jit.load(file).eval())(x))]
        except RuntimeError:  # a variant that PyTorch cannot run
            continue


def main() -> None:
    name, folder = sys.argv[1:]
    warnings.filterwarnings("ignore")
    import numpy
    import torch
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    call_forward_alone()
    model, x = build(name)
    model.eval()
    randomise(model)
    calibrate(model, x)
    model = only_tensors(model, x).eval()
    base = os.path.join(folder, name.replace("/", "."))
    numpy.save(f"{base}.input.npy", x.numpy())

    answers = [y.numpy() for y in flat(model(x))]
    record = {"parameters": sum(p.numel() for p in model.parameters()), "exact": "float64"}
    try:
        torch.set_default_dtype(torch.float64)
        exact = [y.numpy() for y in flat(copy.deepcopy(model).double()(x.double() if x.is_floating_point() else x))]
    except RuntimeError as error:  # a program that makes tensors of float32 itself
        record["exact"] = f"float32, since: {str(error).splitlines()[0]}"
        exact = answers
    torch.set_default_dtype(torch.float32)
    record["pytorch_error"] = difference(answers, exact)
    with open(f"{base}.exact.npy", "wb") as file:
        for array in exact:
            numpy.save(file, array)

    torch.jit.trace(model, x, check_trace=False, strict=False).save(f"{base}.traced.pt")
    record["pytorch_error"] = max([record["pytorch_error"]] + [difference(given, exact) for given in optimized_answers(f"{base}.traced.pt", x)])
    try:
        torch.jit.script(model).save(f"{base}.scripted.pt")
    except Exception as error:  # whatever a package's code runs into
        pathlib.Path(f"{base}.scripted.pt").unlink(missing_ok=True)  # what was written until then
        record["not_scripted"] = (str(error).strip().splitlines() or [type(error).__name__])[0]
    with open(f"{base}.json", "w") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()
