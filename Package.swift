// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// The points between two transitions at which a simulation may let another thread go on: in debug
/// builds, and where the trait asks for them.
let simulation: [SwiftSetting] = [
  .define("SIMULATION", .when(configuration: .debug)),
  .define("SIMULATION", .when(traits: ["Simulation"])),
]

let package = Package(
  name: "DispatchStore",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "DispatchStore", targets: ["DispatchStore"]),
    .library(name: "DispatchStoreTesting", targets: ["DispatchStoreTesting"]),
    .executable(name: "churn", targets: ["churn"]),
    .executable(name: "explore", targets: ["explore"]),
  ],
  traits: [
    .trait(
      name: "Simulation",
      description: "Simulations with DispatchStoreTesting in release builds too."),
    .default(enabledTraits: ["Simulation"]),
  ],
  targets: [
    .target(name: "DispatchStore", swiftSettings: settings + simulation),
    .target(
      name: "DispatchStoreTesting", dependencies: ["DispatchStore"], swiftSettings: settings),
    .executableTarget(
      name: "churn", dependencies: ["DispatchStore"],
      resources: [.embedInCode("Resources/history.log")], swiftSettings: settings),
    .executableTarget(
      name: "explore", dependencies: ["DispatchStore", "DispatchStoreTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "DispatchStoreTests", dependencies: ["DispatchStore", "DispatchStoreTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "DispatchStoreTestingTests", dependencies: ["DispatchStoreTesting"],
      swiftSettings: settings),
    .testTarget(name: "ChurnTests", dependencies: ["churn"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
