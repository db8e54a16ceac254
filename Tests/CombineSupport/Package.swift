// swift-tools-version: 6.3
import PackageDescription

/// The sources that the library compiles where Combine and SwiftUI can be imported, by symbolic links, against
/// OpenCombine, and against a stand-in for what they use of SwiftUI.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "CombineSupport",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "DispatchStore", path: "../.."),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .target(name: "SwiftUIStandIn", swiftSettings: settings),
    .target(
      name: "CombineSupport",
      dependencies: [
        "SwiftUIStandIn",
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ],
      swiftSettings: settings + [.define("OPENCOMBINE"), .define("SWIFTUI_STANDIN")]),
    .testTarget(
      name: "CombineSupportTests",
      dependencies: [
        "CombineSupport", "SwiftUIStandIn",
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
