// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let dispatchStore = Target.Dependency.product(name: "DispatchStore", package: "DispatchStore")

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "ratios", targets: ["Ratios"]),
    .executable(name: "plots", targets: ["Plots"]),
    .executable(name: "instructions", targets: ["Instructions"]),
    .executable(name: "limits", targets: ["Limits"]),
  ],
  dependencies: [
    .package(name: "DispatchStore", path: ".."),
    // Without its traits, which need two more packages; `CCounters` counts instead.
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    .target(name: "CMemory"),
    .target(name: "CCounters"),
    .target(
      name: "BenchmarkSupport", dependencies: [dispatchStore, "CMemory"], swiftSettings: settings),
    .executableTarget(
      name: "Ratios", dependencies: ["BenchmarkSupport", dispatchStore], swiftSettings: settings),
    .executableTarget(
      name: "Plots", dependencies: ["BenchmarkSupport", dispatchStore], swiftSettings: settings),
    .executableTarget(
      name: "Limits", dependencies: ["BenchmarkSupport", dispatchStore], swiftSettings: settings),
    .executableTarget(
      name: "Instructions", dependencies: ["BenchmarkSupport", dispatchStore],
      swiftSettings: settings,
      // Without debug information, which valgrind can't read as Swift's linker lays it out.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--strip-debug"])]),
    .executableTarget(
      name: "Dispatching",
      dependencies: [
        "BenchmarkSupport", "CCounters", dispatchStore,
        .product(name: "Benchmark", package: "benchmark"),
      ],
      path: "Benchmarks/Dispatching", swiftSettings: settings,
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
  ],
  swiftLanguageModes: [.v6]
)
