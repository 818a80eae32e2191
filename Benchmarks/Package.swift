// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

// A package of its own, so that nobody who depends on Lastro resolves or builds the clients it is compared with.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "lastro-bench", targets: ["LastroBench"])
  ],
  dependencies: [
    // Named, because the folder of a clone may have any name.
    .package(name: "Lastro", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
  ],
  targets: [
    // What the clients have in common, so that no difference between them is the driver's.
    .target(name: "BenchSupport", swiftSettings: settings),
    .executableTarget(
      name: "LastroBench",
      dependencies: [
        "BenchSupport",
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
