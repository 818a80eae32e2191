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

let package = Package(
  name: "Lastro",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Lastro", targets: ["Lastro", "LastroWire"]),
    .library(name: "LastroCurl", targets: ["LastroCurl"]),
    .library(name: "LastroTesting", targets: ["LastroTesting"]),
    .executable(name: "lastro", targets: ["LastroCommand"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: [
    // The only door to libcurl and OpenSSL's client side. Holds no policy.
    .target(
      name: "CLastro",
      linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // The only door to libcrypto: message digests, and the reading of certificates. Holds no policy.
    .target(name: "CLastroCrypto", linkerSettings: [.linkedLibrary("crypto")]),
    // The only door to zlib: raw deflate for WebSocket, and content codings undone. Holds no policy.
    .target(name: "CLastroZlib", linkerSettings: [.linkedLibrary("z")]),
    // Pure machines, bytes to events. Imports nothing but that door, not even Foundation.
    .target(name: "LastroWire", dependencies: ["CLastroZlib"], swiftSettings: settings),
    // A lock and a place for one answer, public so that every target specialises them. In no product; imports the C library alone.
    .target(name: "LastroSupport", swiftSettings: settings),
    // What features import. May not know libcurl.
    .target(
      name: "Lastro",
      dependencies: [
        "CLastroCrypto", "LastroSupport", "LastroWire",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: settings),
    // The engine. Imported by nobody but a composition root.
    .target(
      name: "LastroCurl",
      dependencies: [
        "CLastro", "Lastro", "LastroSupport", "LastroWire",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: settings),
    // Server side of OpenSSL and of HPACK for the loopback servers, and the certificate mint.
    .target(
      name: "CLoopback",
      linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto"), .linkedLibrary("nghttp2")]),
    // For our users' tests. May not import the engine nor a test framework.
    .target(
      name: "LastroTesting",
      dependencies: [
        "CLoopback", "Lastro", "LastroSupport", "LastroWire",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // The command line, over the public API only.
    .executableTarget(
      name: "LastroCommand",
      dependencies: [
        "Lastro", "LastroCurl",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
    .testTarget(name: "LastroWireTests", dependencies: ["CLastroZlib", "LastroWire"], swiftSettings: settings),
    .testTarget(
      name: "LastroTests",
      dependencies: [
        "Lastro", "LastroSupport", "LastroTesting", "LastroWire",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroCurlTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),
    // Servers nobody here wrote (nginx, squid, Dante, Python), started for the tests. In no product.
    .target(name: "PeerSupport", path: "Tests/PeerSupport", swiftSettings: settings),
    // The command line is run as built: the test needs the program, not its module.
    .testTarget(
      name: "LastroCommandTests",
      dependencies: ["LastroCommand", "LastroTesting", "PeerSupport"], swiftSettings: settings),
    .testTarget(name: "PeerSupportTests", dependencies: ["PeerSupport"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
