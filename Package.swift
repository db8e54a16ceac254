// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "DispatchStore",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "DispatchStore", targets: ["DispatchStore"]),
  ],
  targets: [
    .target(
      name: "DispatchStore",
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
    .testTarget(name: "DispatchStoreTests", dependencies: ["DispatchStore"]),
  ],
  swiftLanguageModes: [.v6]
)
