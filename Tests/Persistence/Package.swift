// swift-tools-version: 6.3
import PackageDescription

// The tests that need SQLite's C library; the root package's tests use a database in memory.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Persistence",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..", traits: ["SQLite"])],
  targets: [
    .testTarget(
      name: "PersistenceTests",
      dependencies: [
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "DispatchStorePersistence", package: "DispatchStore"),
      ], swiftSettings: settings)
  ],
  swiftLanguageModes: [.v6]
)
