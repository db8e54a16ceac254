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
    .executable(name: "ratios", targets: ["Ratios"])
  ],
  dependencies: [
    .package(name: "DispatchStore", path: "..")
  ],
  targets: [
    .target(name: "CMemory"),
    .target(
      name: "BenchmarkSupport", dependencies: [dispatchStore, "CMemory"], swiftSettings: settings),
    .executableTarget(
      name: "Ratios", dependencies: ["BenchmarkSupport", dispatchStore], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
