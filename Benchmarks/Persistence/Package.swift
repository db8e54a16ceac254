// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "PersistenceRatios",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..", traits: ["SQLite"])],
  targets: [
    .systemLibrary(name: "CBaseline"),
    .executableTarget(
      name: "PersistenceRatios",
      dependencies: [
        "CBaseline",
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "DispatchStorePersistence", package: "DispatchStore"),
      ]),
    .executableTarget(
      name: "ReliableRatios",
      dependencies: [
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "DispatchStorePersistence", package: "DispatchStore"),
      ]),
    .executableTarget(
      name: "PersistenceMemory",
      dependencies: [
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "DispatchStorePersistence", package: "DispatchStore"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
