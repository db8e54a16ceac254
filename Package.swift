// swift-tools-version: 6.3
import PackageDescription

var settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
// Only with the compiler that the package is checked with: another one's new warnings break no build.
#if compiler(<6.4)
  settings.append(.treatAllWarnings(as: .error))
#endif

/// The points between two transitions at which a simulation may switch threads: in debug builds, and
/// in release builds with the trait.
let simulation: [SwiftSetting] = [
  .define("SIMULATION", .when(configuration: .debug)),
  .define("SIMULATION", .when(traits: ["Simulation"])),
]

let package = Package(
  name: "DispatchStore",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "DispatchStore", targets: ["DispatchStore"]),
    .library(name: "DispatchStoreInspector", targets: ["DispatchStoreInspector"]),
    .library(name: "DispatchStorePersistence", targets: ["DispatchStorePersistence"]),
    .library(name: "DispatchStoreTesting", targets: ["DispatchStoreTesting"]),
    .executable(name: "churn", targets: ["churn"]),
    .executable(name: "explore", targets: ["explore"]),
  ],
  traits: [
    .trait(
      name: "Simulation",
      description: "Simulations with DispatchStoreTesting in release builds too."),
    .trait(
      name: "SQLite",
      description: "Stores saved in SQLite. Needs its C library: apt-get install libsqlite3-dev."),
    .trait(
      name: "PostgreSQL",
      description: "Stores saved in PostgreSQL. Needs its C library: apt-get install libpq-dev."),
  ],
  targets: [
    .target(name: "DispatchStore", swiftSettings: settings + simulation),
    .target(
      name: "DispatchStoreInspector", dependencies: ["DispatchStore"],
      resources: [.embedInCode("Resources/Inspector.html")], swiftSettings: settings),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CPostgreSQL", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "DispatchStorePersistence",
      dependencies: [
        "DispatchStore", .target(name: "CSQLite", condition: .when(traits: ["SQLite"])),
        .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
      ],
      swiftSettings: settings + simulation),
    .target(
      name: "DispatchStoreTesting", dependencies: ["DispatchStore"], swiftSettings: settings),
    .executableTarget(
      name: "churn",
      dependencies: [
        "DispatchStore", "DispatchStoreInspector",
        .target(name: "DispatchStorePersistence", condition: .when(traits: ["SQLite"])),
      ],
      resources: [.embedInCode("Resources/history.log")], swiftSettings: settings),
    .executableTarget(
      name: "explore",
      dependencies: ["DispatchStore", "DispatchStorePersistence", "DispatchStoreTesting"],
      swiftSettings: settings + simulation),
    .testTarget(
      name: "DispatchStoreTests",
      dependencies: ["DispatchStore", "DispatchStoreInspector", "DispatchStoreTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "DispatchStoreTestingTests", dependencies: ["DispatchStoreTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "ChurnTests", dependencies: ["churn", "DispatchStoreTesting"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
