// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let dispatchStore = Target.Dependency.product(name: "DispatchStore", package: "DispatchStore")
let persistence = Target.Dependency.product(
  name: "DispatchStorePersistence", package: "DispatchStore")
let inspector = Target.Dependency.product(
  name: "DispatchStoreInspector", package: "DispatchStore")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let asyncAlgorithms = Target.Dependency.product(
  name: "AsyncAlgorithms", package: "swift-async-algorithms")

let package = Package(
  name: "Shop",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "DispatchStoreServer", targets: ["DispatchStoreServer"]),
    .executable(name: "shop", targets: ["Shop"]),
    .executable(name: "plain-shop", targets: ["PlainShop"]),
    .executable(name: "gateway", targets: ["Gateway"]),
  ],
  dependencies: [
    .package(name: "DispatchStore", path: "../../..", traits: ["SQLite", "PostgreSQL"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    // Orders, stock and payments: what the service is about. It knows no server and no database.
    .target(name: "ShopCore", dependencies: [dispatchStore], swiftSettings: settings),
    // Logs, metrics, traces, life cycle and health of a dispatcher. Copy it, or depend on it.
    .target(
      name: "DispatchStoreServer",
      dependencies: [
        dispatchStore, persistence, inspector, hummingbird, lifecycle, logging, metrics, tracing,
        asyncAlgorithms, httpTypes,
      ],
      swiftSettings: settings),
    // The code of docs/Recipes.md, which .ci/check-docs.py compares with the page.
    .target(
      name: "Recipes",
      dependencies: [
        "DispatchStoreServer", dispatchStore, persistence, hummingbird, httpTypes, lifecycle,
        logging, metrics, tracing,
      ],
      swiftSettings: settings),
    // What logs, metrics and traces cost a dispatch.
    .executableTarget(
      name: "ServerOverhead",
      dependencies: ["DispatchStoreServer", dispatchStore, logging, metrics, tracing],
      swiftSettings: settings),
    .executableTarget(
      name: "Shop",
      dependencies: [
        "ShopCore", "DispatchStoreServer", dispatchStore, persistence, hummingbird, lifecycle,
        logging,
        metrics, tracing, .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ], swiftSettings: settings),
    // The bank, in a process of its own.
    .executableTarget(
      name: "Gateway", dependencies: ["DispatchStoreServer", hummingbird, tracing],
      swiftSettings: settings),
    .systemLibrary(name: "CLibPQ", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    // The same service without DispatchStore: the measure for lines and speed.
    .executableTarget(
      name: "PlainShop",
      dependencies: [
        hummingbird, lifecycle, logging, metrics, tracing,
        "CLibPQ", .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ], swiftSettings: settings),
    .testTarget(
      name: "ShopCoreTests",
      dependencies: [
        "ShopCore", dispatchStore,
        .product(name: "DispatchStoreTesting", package: "DispatchStore"),
      ], swiftSettings: settings),
    .testTarget(
      name: "DispatchStoreServerTests",
      dependencies: [
        "DispatchStoreServer", dispatchStore, persistence, hummingbird, lifecycle, logging, metrics,
        tracing, httpTypes,
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "DispatchStoreTesting", package: "DispatchStore"),
      ], swiftSettings: settings),
    .testTarget(
      name: "RecipesTests",
      dependencies: [
        "Recipes", "DispatchStoreServer", dispatchStore, hummingbird, httpTypes, logging,
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "DispatchStoreTesting", package: "DispatchStore"),
      ], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
