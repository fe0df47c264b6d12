"""Scenes to train a small segmentation model on: photographs cut out by Tux Paint's authors, put on photographs.

Everything comes from Debian packages, fetched by apt-get into build/scenes (no root needed):

    tuxpaint-stamps-default          cut-outs with alpha, by kind of thing in folders   GPL-2
    mate-backgrounds                 photographs                                        GPL-2+
    plasma-workspace-wallpapers      photographs                                        GPL-2+
    lomiri-wallpapers-16.04          photographs                                        CC0, CC BY 4.0, CC BY-SA 4.0
    python3-skimage                  textures and photographs                           CC0 and public domain
"""

import pathlib
import random
import subprocess

import numpy
from PIL import Image, ImageEnhance, ImageFilter

PACKAGES = ("tuxpaint-stamps-default", "mate-backgrounds", "plasma-workspace-wallpapers", "lomiri-wallpapers-16.04",
            "python3-skimage")
ROOT = pathlib.Path("build/scenes")
STAMPS = "usr/share/tuxpaint/stamps"

LABELS = ("background", "bird", "mammal", "flower", "fruit", "vehicle")
# Folders of Tux Paint's stamps by class. Class 0 is what else may lie about, to be told from the rest.
FOLDERS = {
    0: ("household", "household/tools", "household/dishes", "household/arttools", "hobbies/music/*", "hobbies", "sports",
        "plants/trees", "space/planets", "animals/fish"),
    1: ("animals/birds",),
    2: ("animals/mammals", "animals/mammals/apes", "animals/mammals/bears", "animals/mammals/bovines",
        "animals/mammals/camel", "animals/mammals/cats", "animals/mammals/deer", "animals/mammals/dogs",
        "animals/mammals/equines", "animals/mammals/rodents", "animals/marsupials"),
    3: ("plants/flowers",),
    4: ("food/fruit", "food/vegetables"),
    5: ("vehicles/auto", "vehicles/construction", "vehicles/emergency", "vehicles/masstransit", "vehicles/race",
        "vehicles", "military/vehicles", "vehicles/cycle"),
}
# Drawings, wheels and the bare signs of police cars: not what their folder's class looks like.
NOT_USED = {"hedgehog", "echidna", "7spoke256", "wheel_tractor", "balloon360", "sedan_police", "sedan_police_mirror", "button",
            "f22_raptor", "appooppanthady", "lettuce_bolted", "eggplant", "lionfish"}
# Never trained on, a fifth of each class or so: pictures of which no other one of the same object is trained on.
HELD_OUT = {
    1: {"crow", "rooster", "pigeon", "duck", "penguin", "tucan", "heron_greatblue"},
    2: {"cow", "zebra", "tiger", "sheep", "fox", "rabbit", "squirrel", "deer", "elephant", "bear", "dromedary"},
    3: {"rose", "daffodil", "flower9", "yellow-flower", "flower6"},
    4: {"apple_red", "lemon", "mandarine", "Strawberry2", "yellowpepper", "pear", "corn", "tomato"},
    5: {"sedan", "firetruck", "bradley", "bradley_mirror"},
    0: {"teapot", "violin", "soccer", "wrench", "camera_35mm", "holm_oak", "kettle"},
}
BACKGROUNDS = (
    "usr/share/backgrounds/mate/nature/{Dune,Wood,Aqua,Storm,GreenMeadow,RainDrops,Blinds}.jpg",
    "usr/share/backgrounds/{aitzgorri_by_Aitzol_Berasategi,sunset_by_Aitzol_Berasategi,picosdeeuropa_by_Aitzol_Berasategi,"
    "umang_by_Abhishek_Mudgal,life_by_Aitzol_Berasategi,analogpattern_by_Peter_Nerlich,Bridge_by_Sander_Klootwijk,"
    "Picture_1A_by_freespace,Dragonfly_by_Bolly,seeding_by_Clements_Engelhardt,greentock_by_Peter_Nerlich}.jpg",
    "usr/share/wallpapers/{Autumn,BytheWater,ColdRipple,DarkestHour,FallenLeaf,Grey,OneStandsOut}"
    "/contents/screenshot.jpg",
    "usr/lib/python3/dist-packages/skimage/data/{brick,grass,gravel,coffee,rocket,astronaut}.{png,jpg}",
)
HELD_OUT_BACKGROUNDS = {"GreenMeadow", "Dune", "picosdeeuropa_by_Aitzol_Berasategi", "umang_by_Abhishek_Mudgal", "FallenLeaf",
                        "BytheWater", "gravel", "OneStandsOut", "Storm"}


def fetch() -> None:
    """Downloads and unpacks the packages, unless that was done."""
    if (ROOT / "done").exists():
        return
    ROOT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "-qq", "download", *PACKAGES], cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    for package in sorted(ROOT.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)
        package.unlink()
    (ROOT / "done").touch()


def expand(pattern: str):
    """{a,b} in the pattern of a path, as a shell reads it."""
    if "{" not in pattern:
        return [pattern]
    before, rest = pattern.split("{", 1)
    names, after = rest.split("}", 1)
    return [path for name in names.split(",") for path in expand(before + name + after)]


class Pictures:
    """The cut-outs and the backgrounds, of which either those held out or the others."""

    def __init__(self, held_out: bool):
        fetch()
        self.stamps = {label: [] for label in FOLDERS}
        for label, folders in FOLDERS.items():
            paths = {path for folder in folders for path in (ROOT / STAMPS).glob(folder + "/*.png")}
            for path in sorted(paths):
                if path.stem not in NOT_USED and (path.stem in HELD_OUT[label]) == held_out:
                    self.stamps[label].append((path.stem, load_stamp(path)))
        self.backgrounds = []
        for path in (ROOT / name for pattern in BACKGROUNDS for name in expand(pattern)):
            if path.exists() and (path.stem in HELD_OUT_BACKGROUNDS or path.parts[-3] in HELD_OUT_BACKGROUNDS) == held_out:
                picture = Image.open(path).convert("RGB")
                picture.thumbnail((720, 720))
                name = path.parts[-3] if path.stem == "screenshot" else path.stem
                self.backgrounds.append((name, picture))


def load_stamp(path: pathlib.Path) -> Image.Image:
    picture = Image.open(path).convert("RGBA")
    picture = picture.crop(picture.getchannel("A").point(lambda a: 255 * (a > 40)).getbbox())
    picture.thumbnail((260, 260), Image.Resampling.LANCZOS)
    return picture


def jitter(picture: Image.Image, random_: random.Random, amount: float) -> Image.Image:
    """Another light: brightness, contrast and saturation up to `amount` away; alpha stays."""
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    rgb = picture.convert("RGB")
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


def place(scene: Image.Image, labels: numpy.ndarray, stamp: Image.Image, label: int, x: int, y: int) -> None:
    """Puts a cut-out in front of what is there; what is more than half of it gets its label."""
    scene.paste(stamp, (x, y), stamp)
    mask = numpy.asarray(stamp.getchannel("A")) > 127
    top, left = max(0, -y), max(0, -x)
    part = labels[max(0, y):y + stamp.height, max(0, x):x + stamp.width]
    part[mask[top:top + part.shape[0], left:left + part.shape[1]]] = label


def turned(stamp: Image.Image, random_: random.Random, label: int, size: int) -> Image.Image:
    """The cut-out, its longer side `size` pixels, mirrored or not, turned: a little, what has a foot, else any way."""
    stamp = stamp.resize([max(4, round(side * size / max(stamp.size))) for side in stamp.size], Image.Resampling.BILINEAR)
    if random_.random() < 0.5:
        stamp = stamp.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    angle = random_.uniform(-180, 180) if label in (0, 3, 4) else random_.uniform(-20, 20)
    return stamp.rotate(angle, Image.Resampling.BILINEAR, expand=True)


def compose(pictures: Pictures, random_: random.Random, width: int, height: int):
    """A scene and its labels [height, width]: one to five things, which may hide one another."""
    _, background = random_.choice(pictures.backgrounds)
    scene = jitter(crop_background(background, random_, width, height), random_, 0.4)
    if random_.random() < 0.3:
        scene = scene.filter(ImageFilter.GaussianBlur(random_.uniform(0.3, 1.5)))
    labels = numpy.zeros((height, width), numpy.uint8)
    for _ in range(random_.choice((1, 2, 2, 3, 3, 4, 5)) * max(1, round(width * height / 128 / 160))):
        label = random_.choice((0, 1, 1, 2, 2, 3, 4, 5))
        _, stamp = random_.choice(pictures.stamps[label])
        size = round(random_.uniform(32, 100) * (0.75 if label in (3, 4) else 1))
        stamp = turned(jitter(stamp, random_, 0.3), random_, label, size)
        place(scene, labels, stamp, label, random_.randint(-stamp.width // 3, width - 2 * stamp.width // 3),
              random_.randint(-stamp.height // 3, height - 2 * stamp.height // 3))
    if random_.random() < 0.3:
        scene = scene.filter(ImageFilter.GaussianBlur(random_.uniform(0.2, 0.8)))
    return scene, labels
