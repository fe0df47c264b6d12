"""Scenes to train a small segmentation model on: drawings of the Open Clip Art Library, put on photographs.

    apt-get install python3-numpy python3-pil
    /usr/bin/python3 scripts/scenes.py     draws the sample scenes, models/scenes, anew

Everything comes from Debian packages, fetched by apt-get into build/scenes (no root needed):

    openclipart-png              drawings with alpha, by kind of thing in folders    public domain
    lomiri-wallpapers-16.04      photographs                                         CC0, CC BY 4.0, CC BY-SA 4.0
    lomiri-wallpapers-20.04      photographs                                         CC BY-SA 3.0
    python3-skimage              textures and photographs                            CC0, public domain, BSD
"""

import fnmatch
import os
import pathlib
import random
import subprocess

import numpy
from PIL import Image, ImageEnhance, ImageFilter

PACKAGES = ("openclipart-png", "lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04", "python3-skimage")
ROOT = pathlib.Path("build/scenes")
CLIP_ART = "usr/share/openclipart/png"
Image.MAX_IMAGE_PIXELS = None  # some drawings are that large; load_drawing() leaves them out

LABELS = ("background", "animal", "plant", "fruit", "vehicle", "house")
# Drawings by class. Class 0 is what else may lie about, to be told from the rest.
FILES = {
    0: "recreation/music/* recreation/sports/* tools/* office/telephone/* electronics/* containers/* buildings/furniture/* "
       "computer/hardware/* food/beverages/* food/desserts/* food/breads_and_carbs/* people/clothing/hats/* signs_and_symbols/clocks/*",
    1: "animals/* animals/*/* animals/*/*/* unsorted/Anatra unsorted/Colombo unsorted/Pinguino? unsorted/elefant* "
       "unsorted/gabbiano_piccolo unsorted/pennuto01 unsorted/pescetto unsorted/struzzo",
    2: "plants/* plants/*/* plants/*/*/* signs_and_symbols/map_symbols/tree_-_* signs_and_symbols/map_symbols/plant_-_* "
       "unsorted/foglie_arancioni unsorted/foglie_verdi unsorted/rosa? unsorted/rose",
    3: "food/fruit/* food/vegetables/*",
    4: "transportation/* transportation/vehicles/* transportation/vehicles/*/* transportation/boating/* people/fire_engine_* "
       "unsorted/ambulanza unsorted/betoniera recreation/toys/kiddy_train*",
    5: "buildings/* buildings/homes/* unsorted/Condominio unsorted/fattoria signs_and_symbols/map_symbols/castle_*",
}
# What its folder's class does not look like: signs, groups, scenes, parts, outlines, places kept for missing pictures.
NOT_USED = {
    0: "*teddy* duck* rubber_duck* sportcar* future_beckham* *_bw* hummer* car_* tree_* surf* water_skier* apple* stylized_yoga* "
       "a_man_* a_boy_* bach_* beethoven_* handel_* jazz_* cat_* backpacker* clock0[2-9] clock1*",
    1: "*_bw_* cigni_* cigno_di_notte* cigno_architetto* manager_* mirjam_* turkey_* cani_e_gatti* cymru_* mermaid_* the_incred* "
       "troll_* amibe_* paesaggio_* lizard_* lucchetto_* lucertola_arr* lucertola_maya* sleeping_* crazy_* mhooo_* shaezy_* skoynk_* "
       "squeek_* mascot_* mosquito_* three_eyes* cat_scr* quattro_* ragno_figo* architetto_* le_mie_tigri* horse_* zanzara_* "
       "acquila_architetto_franc_04 kallisti* stormo_* tante_* tatoo_* virus_* wing_* toro_* stambecco_* duck_yellow_ii* tux_didier* "
       "baby-tux* blue_dragonfly* elephant_outline* elephant_symbol* bison_* bulldog_* red-eye* rana_architetto* gatto_nero*",
    2: "cactus_* cayenne* fall_scene* bouquet_* mirjam_* pink-rose* potato* bypass* bowsaw* christmas_balls* tree_01 tree_whit* reed_* "
       "fiore_* human_* acorn* gumnut* magnolia-* full_bloom* bamboo_01 dream_* arbre_modern_bw* olivier_one_bw* island_*",
    3: "apple_core* apple_juice* *_bw candied* champignon* grapes_leif* gumnut* juice_* pie_* slate* tree_* turkey* eris* kallisti* "
       "straw_* *_mateya* fruitcollection* tile_* apple_wedge habanero* pear_jean*",
    4: "anchor* autos_01 bmw_* boating_* knot_* sailing_ca* sailing_cl* sailing_r* sailing_s* sailing_t* sailing_h* sailing_p* sailing_j* "
       "bus_01 lighthouse* little_tan* street_sign* grain_* the_mad* toy_* quay_* parking* *sign* ampel* departing* wing_* shelby_* "
       "beach_trip* old_truck* *_labels airplane_nicu* plane_in* plane_silhouet* sledge* crossroads curve_ahead cycle_route zigzag "
       "Evel_* Motorway_* airplane bambi bus_* buses_* cattle crosswind cycles drawbridge end_* grounded horse kaboom lorry_* no_* old_* pass_* "
       "roundabout tram* turn_* tunnel two_*",
    5: "capitello* demolizione* lighthouse* wall* school_hallway* abitazione* chalet_* brick_* old_sign* water_tower* mobile_* poltrona* "
       "sedia_* small_square* soft_* tavolo* television* wooden_* eiffel* city_* houses_* casa_in_c* casa_pluri* church*",
}
# Never trained on, a fifth of each class: drawings of which no variant is trained on.
HELD_OUT = {
    0: "t* guitar* coffee* bu* com*",
    1: "vacca_* elefante02* puffin* tigre04* bobi_* coniglio_* rana02* leone_01* cavallo_architetto_franc_05 gatto_cat_architetto_fra_04 "
       "sheep-md* turtle_* hen_* rooster_* flamand_* tacchino_* yellow_gour* ladybug_01 butterfly_jonathan* dinosauro_architetto_fra_01 "
       "seal* beagle_* orso_architetto_francesc_03 gull_* pig_* dolphin_enrique* lumaca_archi* new_penguin* camel_head* struzzo",
    2: "daffodil_susan* cartoon_tree* flower_03 tulips_* fall_coloured_tree* christmas_tree_mo* red_flower_raph* shamrock_symbol* "
       "mushroom_benji* geranium* tree_02 plain_tree* rosa2",
    3: "another_apple* banana grape_01 lemon_simple pear_0? strawberry_jona* orange_dave* watermelon_james* corn_cob onion_* "
       "l*_whole_ganson cherry_jonathan* peach_simple",
    4: "sportcar* bus2_* truck_jarno_vasamaa_ aircraft_jarno_vasamaa3 bicycle_01 boat_jarno_vasamaa_ 4wd trattore_* car trawler_* road_runner* fire_engine_mimooh*",
    5: "home14 home3 casa_verde* pinkhome2 my_house* school_country* ch_teau* house_christoph* small_house*",
}
PHOTOGRAPHS = (
    "usr/share/backgrounds/*.jpg",
    "usr/lib/python3/dist-packages/skimage/data/*",
)
# Photographs without animals, fruit and vehicles; horizons, textures, nothing in particular.
PHOTOGRAPHS_USED = {
    False: "Bridge_* Fossa_* Infinite-Sea* Painting-Colors* Picture_1A* analogpattern* greentock* life_* sunset_* Wine_* astronaut brick "
           "camera coffee coins color grass gravel hubble_deep_field moon rocket page",
    True: "aitzgorri_* picosdeeuropa_* seeding_* umang_* clock_motion text",
}
PATTERNS = {False: ("special/gradients/[a-fh-z]*", "special/gradients/gradient-[a-p]*", "special/patterns/[!p]*"),
            True: ("special/gradients/gradient-[q-z]*", "special/patterns/p*")}


def fetch() -> None:
    """Downloads and unpacks the packages, unless that was done."""
    if (ROOT / "unpacked").exists():
        return
    ROOT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "-qq", "download", *PACKAGES], cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    for package in sorted(ROOT.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)
        package.unlink()
    (ROOT / "unpacked").touch()


def any_of(patterns: str, name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split())


class Pictures:
    """The drawings and the backgrounds, of which either those held out or the others."""

    def __init__(self, held_out: bool):
        fetch()
        self.drawings = {label: [] for label in FILES}
        seen = set()
        for label, patterns in FILES.items():
            for path in sorted({path for pattern in patterns.split() for path in (ROOT / CLIP_ART).glob(pattern + ".png")}):
                if any_of(NOT_USED[label], path.stem) or any_of(HELD_OUT[label], path.stem) != held_out:
                    continue
                drawing = load_drawing(path)
                key = drawing and drawing.resize((12, 12)).tobytes()
                if drawing and key not in seen:  # some lie in two folders, or under two names
                    self.drawings[label].append((path.stem, drawing))
                    seen.add(key)
        paths = sorted(path for pattern in PHOTOGRAPHS for path in ROOT.glob(pattern))
        self.photographs = [(path.stem, load_background(path)) for path in paths if any_of(PHOTOGRAPHS_USED[held_out], path.stem)]
        paths = sorted({path for pattern in PATTERNS[held_out] for path in (ROOT / CLIP_ART).glob(pattern + ".png")})
        self.patterns = [(path.stem, load_background(path)) for path in paths]

    def drawing(self, name: str):
        return next((label, picture) for label, all in self.drawings.items() for stem, picture in all if stem == name)

    def photograph(self, name: str):
        return next(picture for stem, picture in self.photographs if stem == name)


def load_drawing(path: pathlib.Path):
    """The drawing without the margin, or None if it is a frame, an outline or a silhouette."""
    with Image.open(path) as picture:
        if picture.width * picture.height > 3e7:
            return None
        picture = picture.convert("RGBA")
    box = picture.getchannel("A").point(lambda a: 255 * (a > 40)).getbbox()
    if box is None:
        return None
    picture = picture.crop(box)
    picture.thumbnail((200, 200), Image.Resampling.LANCZOS)
    pixels = numpy.asarray(picture, int)
    pixels = pixels[pixels[..., 3] > 127][:, :3]
    part = len(pixels) / (picture.width * picture.height)
    grey, colourful = pixels.mean(1), (pixels.max(1) - pixels.min(1)).mean()
    black_and_white = colourful < 4 and (grey < 60).mean() + (grey > 235).mean() > 0.9
    if max(picture.size) < 60 or not 0.22 < part < 0.97 or pixels.std(0).max() < 10 or black_and_white:
        return None
    return picture


def load_background(path: pathlib.Path) -> Image.Image:
    picture = Image.open(path).convert("RGBA")
    picture.thumbnail((720, 720))
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture).convert("RGB")


def jitter(picture: Image.Image, random_: random.Random, amount: float, hue: int) -> Image.Image:
    """Another light: brightness, contrast and saturation up to `amount` away, hues up to `hue` of 256; alpha stays."""
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    h, s, v = picture.convert("RGB").convert("HSV").split()
    turn = random_.randint(-hue, hue)
    rgb = Image.merge("HSV", (h.point(lambda x: (x + turn) & 255), s, v)).convert("RGB")
    for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        rgb = enhance(rgb).enhance(random_.uniform(1 - amount, 1 + amount))
    if alpha:
        rgb.putalpha(alpha)
    return rgb


def crop_background(picture: Image.Image, random_: random.Random, width: int, height: int) -> Image.Image:
    """A part of the picture of the size wanted, at a third to all of what it shows."""
    scale = random_.uniform(0.35, 1.0) * min(picture.width / width, picture.height / height)
    w, h = scale * width, scale * height
    x, y = random_.uniform(0, picture.width - w), random_.uniform(0, picture.height - h)
    part = picture.resize((width, height), Image.Resampling.BILINEAR, box=(x, y, x + w, y + h))
    return part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random_.random() < 0.5 else part


def background(pictures: Pictures, random_: random.Random, width: int, height: int) -> Image.Image:
    """Part of a photograph or a pattern, or of one over another."""
    def one(height):
        _, picture = random_.choice(pictures.patterns if random_.random() < 0.3 else pictures.photographs)
        return jitter(crop_background(picture, random_, width, height), random_, 0.4, 20)

    scene = one(height)
    if random_.random() < 0.3:
        horizon = round(random_.uniform(0.2, 0.8) * height)
        scene.paste(one(height - horizon), (0, horizon))
    if random_.random() < 0.3:
        scene = scene.filter(ImageFilter.GaussianBlur(random_.uniform(0.3, 1.5)))
    return scene


def place(scene: Image.Image, labels: numpy.ndarray, drawing: Image.Image, label: int, x: int, y: int) -> None:
    """Puts a drawing in front of what is there; what is more than half of it gets its label."""
    scene.paste(drawing, (x, y), drawing)
    mask = numpy.asarray(drawing.getchannel("A")) > 127
    top, left = max(0, -y), max(0, -x)
    part = labels[max(0, y):y + drawing.height, max(0, x):x + drawing.width]
    part[mask[top:top + part.shape[0], left:left + part.shape[1]]] = label


def turned(drawing: Image.Image, random_: random.Random, label: int, size: int) -> Image.Image:
    """The drawing, its longer side `size` pixels, stretched a little, mirrored or not, turned: a little, what has a foot, else any way."""
    stretch = random_.uniform(0.85, 1.18), 1
    drawing = drawing.resize([max(4, round(side * f * size / max(drawing.size))) for side, f in zip(drawing.size, stretch)],
                             Image.Resampling.BILINEAR)
    if random_.random() < 0.5:
        drawing = drawing.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    angle = random_.uniform(-180, 180) if label in (0, 3) else random_.uniform(-20, 20)
    return drawing.rotate(angle, Image.Resampling.BILINEAR, expand=True)


def compose(pictures: Pictures, random_: random.Random, width: int, height: int, plain: bool = False):
    """A scene and its labels [height, width]: one to five things, which may hide one another.

    A plain one has the drawings in their own colours on a photograph.
    """
    if plain:
        scene = crop_background(random_.choice(pictures.photographs)[1], random_, width, height)
    else:
        scene = background(pictures, random_, width, height)
    labels = numpy.zeros((height, width), numpy.uint8)
    for _ in range(random_.choice((1, 2, 2, 3, 3, 4, 5)) * max(1, round(width * height / 128 / 160))):
        label = random_.choice((0, 1, 1, 2, 3, 4, 4, 5))
        _, drawing = random_.choice(pictures.drawings[label])
        size = round(random_.uniform(32, 105) * (0.8 if label == 3 else 1))
        drawing = turned(drawing, random_, label, size)
        if not plain:
            drawing = jitter(drawing, random_, 0.3, 8 if label in (2, 3) else 40)
        place(scene, labels, drawing, label, random_.randint(-drawing.width // 3, width - 2 * drawing.width // 3),
              random_.randint(-drawing.height // 3, height - 2 * drawing.height // 3))
    if not plain and random_.random() < 0.3:
        scene = scene.filter(ImageFilter.GaussianBlur(random_.uniform(0.2, 0.8)))
    return scene, labels


# Scenes to show: photograph, then drawing, longer side, turn in degrees, left and top of each. None of it is trained on.
SAMPLES = {
    "meadow": ("aitzgorri_by_Aitzol_Berasategi",
               (("home14", 96, 0, 12, 72), ("christmas_tree_mo_01", 92, 0, 112, 76), ("tigre04_architetto_franc_01", 70, 0, 66, 166),
                ("sportcar_sergio_luiz_ara_01", 104, 0, 206, 124), ("another_apple_01", 48, 0, 190, 184),
                ("lemon_simple", 52, 0, 254, 188))),
    "mountains": ("picosdeeuropa_by_Aitzol_Berasategi",
                  (("bus2_jarno_vasamaa_01", 108, 0, 14, 156), ("house_christoph_brill_01", 84, 0, 214, 90),
                   ("beagle_copper_ganson", 78, 0, 134, 140), ("flower_03", 48, 0, 268, 178), ("orange_dave_pena_01", 46, 0, 214, 186))),
}


def sample(held_out: Pictures, photograph: str, things) -> Image.Image:
    picture = held_out.photograph(photograph)
    scene = picture.resize((320, 240), Image.Resampling.LANCZOS,
                           box=(0, 0, min(picture.width, picture.height * 4 / 3), min(picture.height, picture.width * 3 / 4)))
    for name, size, angle, x, y in things:
        label, drawing = held_out.drawing(name)
        drawing = drawing.resize([round(side * size / max(drawing.size)) for side in drawing.size], Image.Resampling.LANCZOS)
        drawing = drawing.rotate(angle, Image.Resampling.BICUBIC, expand=True)
        place(scene, numpy.zeros((240, 320), numpy.uint8), drawing, label, x, y)
    return scene


def main() -> None:
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    held_out = Pictures(True)
    for name, (photograph, things) in SAMPLES.items():
        sample(held_out, photograph, things).save(f"models/scenes/{name}.png", optimize=True)


if __name__ == "__main__":
    main()
