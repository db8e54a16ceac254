// swift-tools-version: 6.3
import PackageDescription

// The tests that need the C libraries of SQLite and PostgreSQL; the root package's tests use a database in memory.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let library: [Target.Dependency] = [
  .product(name: "DispatchStore", package: "DispatchStore"),
  .product(name: "DispatchStorePersistence", package: "DispatchStore"),
]

let package = Package(
  name: "Persistence",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..", traits: ["SQLite", "PostgreSQL"])],
  targets: [
    .testTarget(
      name: "PersistenceTests",
      dependencies: library + [
        "PostgreSQLServer", "Programs", "Shop", "Transfers",
        .product(name: "DispatchStoreTesting", package: "DispatchStore"),
        .product(name: "churn", package: "DispatchStore"),
      ],
      swiftSettings: settings),
    // Starts a server, for tests and for the programs that are killed.
    .target(name: "PostgreSQLServer", swiftSettings: settings),
    // What programs that are killed, and those that kill them, have in common.
    .target(name: "Programs", dependencies: library, swiftSettings: settings),
    // The program of the guide's last step.
    .executableTarget(name: "Shop", dependencies: library, swiftSettings: settings),
    // Undoes atomic actions of persistent stores, and is killed by a test.
    .executableTarget(name: "Transfers", dependencies: library, swiftSettings: settings),
    // The program that is killed, and the one that kills it: swift run -c release CrashTest.
    .executableTarget(name: "Bank", dependencies: library + ["Programs"], swiftSettings: settings),
    .executableTarget(
      name: "CrashTest", dependencies: ["Bank", "Programs"], swiftSettings: settings),
    // A payment service, and the program that kills it: swift run -c release Cashier.
    .executableTarget(
      name: "Cashier", dependencies: library + ["PostgreSQLServer", "Programs"],
      swiftSettings: settings),
    // What saving in PostgreSQL costs, beside pgbench: swift run -c release PostgreSQLRatios /var/tmp.
    .executableTarget(
      name: "PostgreSQLRatios", dependencies: library + ["PostgreSQLServer"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
