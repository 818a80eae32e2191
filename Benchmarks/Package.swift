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

// A package of its own, so that a package that depends on Lastro neither resolves nor builds what it is compared with.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "lastro-bench", targets: ["LastroBench"]),
    .executable(name: "asynchttpclient-bench", targets: ["AsyncHTTPClientBench"]),
    .executable(name: "urlsession-bench", targets: ["URLSessionBench"]),
  ],
  dependencies: [
    // Named, because the folder of a clone may have any name.
    .package(name: "Lastro", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
    // The peer itself at one version: results name it.
    .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
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
        .product(name: "LastroHTTP", package: "Lastro"),
        .product(name: "LastroTunnels", package: "Lastro"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "AsyncHTTPClientBench",
      dependencies: [
        "BenchSupport",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "PipelineBench",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroFleet", package: "Lastro"),
        .product(name: "LastroResilience", package: "Lastro"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "SimulationBench",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroSimulation", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "StreamBench",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
      ],
      swiftSettings: settings),
    .executableTarget(name: "URLSessionBench", dependencies: ["BenchSupport"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
