// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that packages that depend on Lastro neither resolve nor build what only its pages need.
let package = Package(
  name: "Playgrounds",
  platforms: [.macOS(.v15)],
  dependencies: [
    // Named, because the folder of a clone may have any name.
    .package(name: "Lastro", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "Demo",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    // A service that asks three APIs, and what its users see while they fail.
    .executableTarget(
      name: "Service",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroEveryday", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
        .product(name: "LastroFleet", package: "Lastro"),
        .product(name: "LastroLifecycle", package: "Lastro"),
        .product(name: "LastroObservability", package: "Lastro"),
        .product(name: "LastroResilience", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    // What the guides of Docs/*.docc show, run against a server; `.ci/samples.py` keeps both equal.
    .executableTarget(
      name: "Pages",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroEveryday", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
        .product(name: "LastroTransports", package: "Lastro"),
        .product(name: "LastroFleet", package: "Lastro"),
        .product(name: "LastroHTTP", package: "Lastro"),
        .product(name: "LastroGemini", package: "Lastro"),
        .product(name: "LastroLifecycle", package: "Lastro"),
        .product(name: "LastroObservability", package: "Lastro"),
        .product(name: "LastroResilience", package: "Lastro"),
        .product(name: "LastroSQLiteCache", package: "Lastro"),
        .product(name: "LastroSigning", package: "Lastro"),
        .product(name: "LastroZstd", package: "Lastro"),
        .product(name: "LastroBrotli", package: "Lastro"),
        .product(name: "LastroSimulation", package: "Lastro"),
        .product(name: "LastroStreamsTesting", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
        .product(name: "LastroTunnels", package: "Lastro"),
        .product(name: "LastroWebSocket", package: "Lastro"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
