// swift-tools-version: 6.3
import PackageDescription

let library: [Target.Dependency] = [
  .product(name: "DispatchStore", package: "DispatchStore"),
  .product(name: "DispatchStorePersistence", package: "DispatchStore"),
]

let package = Package(
  name: "PersistenceRatios",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..", traits: ["SQLite"])],
  targets: [
    .executableTarget(name: "PersistenceRatios", dependencies: library),
    .executableTarget(name: "ReliableRatios", dependencies: library),
    .executableTarget(name: "PersistenceMemory", dependencies: library),
  ],
  swiftLanguageModes: [.v6]
)
