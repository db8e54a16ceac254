// swift-tools-version: 6.3
import PackageDescription

/// Makes the site of the library's reference, so that the library itself depends on no package.
let package = Package(
  name: "Documentation",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "DispatchStore", path: "../.."),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    .target(
      name: "Documentation",
      dependencies: [.product(name: "DispatchStore", package: "DispatchStore")])
  ],
  swiftLanguageModes: [.v6]
)
