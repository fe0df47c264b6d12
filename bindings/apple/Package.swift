// swift-tools-version:5.7
// Torchlet for iOS and macOS. scripts/build_xcframework.sh makes CTorchlet.xcframework, which this package takes.
import PackageDescription

let package = Package(
  name: "Torchlet",
  platforms: [.iOS(.v13)],
  products: [
    .library(name: "Torchlet", targets: ["Torchlet"]),
    .library(name: "TorchletObjC", targets: ["TorchletObjC"]),
  ],
  targets: [
    .binaryTarget(name: "CTorchlet", path: "CTorchlet.xcframework"),
    .target(
      name: "TorchletObjC",
      dependencies: ["CTorchlet"],
      linkerSettings: [.linkedLibrary("z"), .linkedLibrary("c++")]),
    .target(name: "Torchlet", dependencies: ["TorchletObjC"]),
  ],
  cxxLanguageStandard: .cxx20)
