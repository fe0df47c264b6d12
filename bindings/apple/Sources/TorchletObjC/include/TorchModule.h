// Models, with the methods that apps written against LibTorch-Lite have in their own TorchModule.
//
// Values are Foundation's: TorchTensor, NSNumber (bool, int, float), NSString, NSArray (a list),
// TorchTuple, NSDictionary (keys are strings or numbers) and NSNull (None). A model's tuples come
// out as TorchTuple, which is an NSArray in a box; NSDictionary does not keep a dict's order.
#pragma once

#import "TorchTensor.h"

NS_ASSUME_NONNULL_BEGIN

// A tuple of Python.
@interface TorchTuple : NSObject {
 @private
  NSArray* _items;
}
+ (instancetype)tupleWithItems:(NSArray*)items;
@property(nonatomic, readonly) NSArray* items;
@end

// How a model is loaded and run (torchlet/options.h).
@interface TorchOptions : NSObject {
 @private
  NSString* _devices;
  NSString* _precision;
  BOOL _allowUnsupported;
  NSUInteger _memoryLimit;
  NSTimeInterval _timeLimit;
}
@property(nonatomic, copy) NSString* devices;    // "cpu", "reference", ...
@property(nonatomic, copy) NSString* precision;  // "fp32", "fp16" or "bf16"
@property(nonatomic)
    BOOL allowUnsupported;  // load it though operators are missing; running into one is an error
@property(nonatomic) NSUInteger memoryLimit;  // bytes that the model may hold at once; 0: no limit
@property(nonatomic) NSTimeInterval timeLimit;  // for loading, and for each call; 0: no limit
@end

struct torchlet_module;

// Any number of threads may run one module at once.
@interface TorchModule : NSObject {
 @private
  struct torchlet_module* _handle;
}

// As in PyTorch's recipes: nil, and a line in the log, if the file cannot be loaded. The file is
// mapped.
- (_Nullable instancetype)initWithFileAtPath:(NSString*)filePath NS_SWIFT_NAME(init(fileAtPath:));
- (_Nullable instancetype)initWithFileAtPath:(NSString*)filePath
                                     options:(TorchOptions* _Nullable)options
                                       error:(NSError* _Nullable* _Nullable)error;
// The bytes are copied.
- (_Nullable instancetype)initWithModelData:(NSData*)data
                                    options:(TorchOptions* _Nullable)options
                                      error:(NSError* _Nullable* _Nullable)error
    NS_SWIFT_NAME(init(data:options:));
#ifdef __clang__
+ (instancetype)new NS_UNAVAILABLE;
- (instancetype)init NS_UNAVAILABLE;
#endif

// As in PyTorch's recipes: the scores of a classifier for the 3 x 224 x 224 normalised floats at
// `imageBuffer`; nil, and a line in the log, if it fails.
- (NSArray TORCHLET_OF(NSNumber*) * _Nullable)predictImage:(void*)imageBuffer
    NS_SWIFT_NAME(predict(image:));
- (NSArray TORCHLET_OF(NSNumber*) * _Nullable)predictImage:(void*)imageBuffer
                                                     width:(NSInteger)width
                                                    height:(NSInteger)height
                                                     error:(NSError* _Nullable* _Nullable)error;

// The class of each pixel, a byte each, that a segmentation model finds in the 3 x height x width
// normalised floats at `imageBuffer`: where its scores are largest, which are [1, classes, height,
// width] and its answer, or "out" in its answer.
- (NSData* _Nullable)segmentImage:(void*)imageBuffer
                            width:(NSInteger)width
                           height:(NSInteger)height
                            error:(NSError* _Nullable* _Nullable)error;

// Runs forward(), or any method; `keywords` are its keyword arguments. None is NSNull.
- (id _Nullable)forward:(NSArray*)inputs error:(NSError* _Nullable* _Nullable)error;
- (id _Nullable)runMethod:(NSString*)method
                   inputs:(NSArray*)inputs
                 keywords:(NSDictionary TORCHLET_OF(NSString*, id) * _Nullable)keywords
                    error:(NSError* _Nullable* _Nullable)error;

@property(nonatomic, readonly)
    NSString* typeName;  // "__torch__.torchvision.models.mobilenetv2.MobileNetV2"
@property(nonatomic, readonly) NSArray TORCHLET_OF(NSString*) * methodNames;
// "forward(Tensor x, int size=3) -> Tensor"
- (NSString* _Nullable)schemaOfMethod:(NSString*)method error:(NSError* _Nullable* _Nullable)error;
// Parameter, buffer or other attribute; "features.0.weight" is a path.
- (id _Nullable)attributeAtPath:(NSString*)path error:(NSError* _Nullable* _Nullable)error;
// The arguments of each bundled call of the method: tuples.
- (NSArray TORCHLET_OF(TorchTuple*) * _Nullable)
    bundledInputsOfMethod:(NSString*)method
                    error:(NSError* _Nullable* _Nullable)error;
// Container, version, operators with counts, ...: docs/inspect.md.
- (NSDictionary* _Nullable)infoAndReturnError:(NSError* _Nullable* _Nullable)error
    NS_SWIFT_NAME(info());
// What the file carries besides the model (PyTorch's _extra_files), such as "labels.txt": a label a
// line.
- (NSData* _Nullable)extraFile:(NSString*)name error:(NSError* _Nullable* _Nullable)error;
// A module of the same program with its own tensors and state.
- (TorchModule* _Nullable)duplicateAndReturnError:(NSError* _Nullable* _Nullable)error
    NS_SWIFT_NAME(duplicate());
// While YES, calls end with TorchletErrorCancelled within some milliseconds. From any thread.
- (void)setCancelled:(BOOL)cancelled;

// Threads that one operator may use, 256 at most; 0: all processors.
+ (BOOL)setThreadCount:(NSInteger)count error:(NSError* _Nullable* _Nullable)error;
+ (NSInteger)threadCount;
+ (NSString*)version;
@end

NS_ASSUME_NONNULL_END
