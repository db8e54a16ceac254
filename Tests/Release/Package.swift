// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// The suites of which tests end a process, by links: what they promise, messages included, holds in release
// builds, too. `swift test -c release` in the package itself would need its other tests' `@testable`.
let package = Package(
  name: "Release",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: "../..")],
  targets: [
    .testTarget(
      name: "DispatchStoreTests",
      dependencies: [.product(name: "DispatchStore", package: "DispatchStore")],
      swiftSettings: settings),
    .testTarget(
      name: "DispatchStoreTestingTests",
      dependencies: [
        .product(name: "DispatchStore", package: "DispatchStore"),
        .product(name: "DispatchStoreTesting", package: "DispatchStore"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
