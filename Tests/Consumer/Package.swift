// swift-tools-version: 6.3
import PackageDescription

/// Every warning fails the build: a user of the library meets none.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let imports: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
let library: [Target.Dependency] = [.product(name: "DispatchStore", package: "DispatchStore")]

let package = Package(
  name: "Consumer",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..")],
  targets: [
    // The core of the example in docs/Examples, by symbolic links: it needs this library alone.
    .target(name: "ShopCore", dependencies: library, swiftSettings: strict + imports),
    .testTarget(
      name: "ShopCoreTests",
      dependencies: ["ShopCore", .product(name: "DispatchStoreTesting", package: "DispatchStore")]
        + library, swiftSettings: strict + imports),
    .executableTarget(name: "ContractProgram", dependencies: library, swiftSettings: strict),
    .executableTarget(name: "AsyncMainTool", dependencies: library, swiftSettings: strict),
    .executableTarget(name: "DispatchMainTool", dependencies: library, swiftSettings: strict),
    .executableTarget(name: "RunLoopTool", dependencies: library, swiftSettings: strict),
    .target(name: "ModuleSelectors", dependencies: library, swiftSettings: strict),
    .target(name: "Programs", dependencies: library, swiftSettings: strict),
    .target(
      name: "MainActorApp", dependencies: library,
      swiftSettings: strict + [.defaultIsolation(MainActor.self)]),
    .testTarget(
      name: "ConsumerTests",
      dependencies: ["MainActorApp", "ModuleSelectors", "Programs"] + library, swiftSettings: strict
    ),
  ],
  swiftLanguageModes: [.v6]
)
