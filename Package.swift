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

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// Returns a product of another package that only programs with the trait `Integrations` build.
func integration(_ name: String, _ package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["Integrations"]))
}

// The floors are the folders of `Sources` and `Tests`. A target uses its own floor and those above it in this list;
// `.ci/lint` checks that.
enum Floor: String {
  case core = "Core"
  case everyday = "Everyday"
  case fleet = "Fleet"
  case streams = "Streams"
  case testing = "Testing"
  case tools = "Tools"
  /// Holds what the tests of several targets share. Exists in `Tests` only.
  case support = "Support"

  func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(rawValue)/\(name)", swiftSettings: settings)
  }

  /// Returns a target in C, the only way to some libraries of the system. Holds no policy.
  func shim(_ name: String, links libraries: String...) -> Target {
    .target(
      name: name, path: "Sources/\(rawValue)/\(name)",
      linkerSettings: libraries.map { .linkedLibrary($0) })
  }

  func shared(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(rawValue)/\(name)", swiftSettings: settings)
  }

  func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: "Tests/\(rawValue)/\(name)", swiftSettings: settings)
  }
}

let package = Package(
  name: "Lastro",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Lastro", targets: ["Lastro", "LastroWire"]),
    .library(name: "LastroHTTP", targets: ["LastroHTTP"]),
    .library(name: "LastroCurl", targets: ["LastroCurl"]),
    .library(name: "LastroEveryday", targets: ["LastroEveryday"]),
    .library(name: "LastroSQLiteCache", targets: ["LastroSQLiteCache"]),
    .library(name: "LastroZstd", targets: ["LastroZstd"]),
    .library(name: "LastroBrotli", targets: ["LastroBrotli"]),
    .library(name: "LastroSigning", targets: ["LastroSigning"]),
    .library(name: "LastroResilience", targets: ["LastroResilience"]),
    .library(name: "LastroObservability", targets: ["LastroObservability"]),
    .library(name: "LastroLifecycle", targets: ["LastroLifecycle"]),
    .library(name: "LastroFleet", targets: ["LastroFleet"]),
    .library(name: "LastroWebSocket", targets: ["LastroWebSocket"]),
    .library(name: "LastroGemini", targets: ["LastroGemini"]),
    .library(name: "LastroTunnels", targets: ["LastroTunnels"]),
    .library(name: "LastroTransports", targets: ["LastroTransports"]),
    .library(name: "LastroTesting", targets: ["LastroTesting"]),
    .library(name: "LastroStreamsTesting", targets: ["LastroStreamsTesting"]),
    .library(name: "LastroSimulation", targets: ["LastroSimulation"]),
    .executable(name: "lastro", targets: ["LastroCommand"]),
  ],
  // The trait covers the packages that most programs do not use. A program leaves them out with `traits: []`. There is
  // a single trait, because SwiftPM passes several to the compiler in any order, and another order rebuilds everything.
  traits: [
    .trait(
      name: "Integrations",
      description: "LastroObservability, LastroLifecycle and the program lastro, on packages of others."),
    .default(enabledTraits: ["Integrations"]),
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
    // MARK: Core

    // libcurl and OpenSSL's client side.
    Floor.core.shim("CLastro", links: "curl", "ssl", "crypto"),
    // libnghttp2's client side.
    Floor.core.shim("CLastroHTTP2", links: "nghttp2"),
    // libcrypto's digests, ciphers and reading of certificates, and zlib.
    Floor.core.shim("CLastroPrimitives", links: "crypto", "z"),
    // A lock, a place for one answer, and what else every target needs. Public where it is specialised. In no product.
    Floor.core.target("LastroSupport"),
    // Pure machines, bytes to events. Imports nothing but CLastroPrimitives, not even Foundation.
    Floor.core.target("LastroWire", ["CLastroPrimitives"]),
    // What features import: resources, pipeline, policy and trust. May not know libcurl, Dispatch, metrics nor tracing.
    Floor.core.target("Lastro", ["CLastroPrimitives", "LastroSupport", "LastroWire", httpTypes, logging]),
    // The engine: HTTP/1.1 and HTTP/2 over any link, its event loop, and the transport over any dialer. May not know
    // libcurl, a TLS library nor Dispatch.
    Floor.core.target("LastroHTTP", ["CLastroHTTP2", "Lastro", "LastroSupport", "LastroWire", httpTypes]),
    // The engine over connections that libcurl opens. Only a composition root imports it.
    Floor.core.target(
      "LastroCurl", ["CLastro", "Lastro", "LastroHTTP", "LastroSupport", "LastroWire", httpTypes, logging]),

    // MARK: Everyday

    // What services add to fetches: events, forms, pages, cookies, cache, files, names. May not know the engine, streams
    // nor metrics.
    Floor.everyday.target("LastroEveryday", ["Lastro", "LastroSupport", "LastroWire", httpTypes, logging]),
    Floor.everyday.shim("CLastroSQLite", links: "sqlite3"),
    // The cache's store on disk, a product of its own: a program that does not use it needs no SQLite.
    Floor.everyday.target(
      "LastroSQLiteCache", ["CLastroSQLite", "Lastro", "LastroEveryday", "LastroSupport", httpTypes]),
    // libzstd and libbrotlidec, and the content codings on them: a product for each library.
    Floor.everyday.shim("CLastroZstd", links: "zstd"),
    Floor.everyday.target("LastroZstd", ["CLastroZstd", "Lastro", "LastroWire"]),
    Floor.everyday.shim("CLastroBrotli", links: "brotlidec"),
    Floor.everyday.target("LastroBrotli", ["CLastroBrotli", "Lastro", "LastroWire"]),
    Floor.everyday.shim("CLastroSigning", links: "crypto"),
    // Signed requests, and messages of others that are verified: a product of its own, so that only programs that ask for
    // it compile it.
    Floor.everyday.target(
      "LastroSigning", ["CLastroSigning", "Lastro", "LastroSupport", "LastroWire", httpTypes]),
    // What keeps a service up when its peers are down: breakers, limiters, pacing, hedging, endpoints, egress. A layer
    // below the pipeline; may not know the engine, streams nor metrics.
    Floor.everyday.target("LastroResilience", ["Lastro", "LastroSupport", "LastroWire", httpTypes]),
    // HTTP archives: their values, masking, recording and replay. In no product: observers, cassettes and the command line
    // offer it.
    Floor.everyday.target("LastroHAR", ["Lastro", "LastroSupport", "LastroWire", httpTypes]),
    // Metrics, spans and HTTP archives of fetches. The only place that knows swift-metrics and
    // swift-distributed-tracing.
    Floor.everyday.target(
      "LastroObservability",
      [
        "Lastro", "LastroHAR", "LastroSupport", "LastroWire", httpTypes, logging,
        integration("CoreMetrics", "swift-metrics"), integration("Tracing", "swift-distributed-tracing"),
      ]),
    // The stack as a service of swift-service-lifecycle, whose dependencies take a while to compile.
    Floor.everyday.target(
      "LastroLifecycle", ["LastroCurl", integration("ServiceLifecycle", "swift-service-lifecycle")]),

    // MARK: Fleet

    // What the instances of a service share, in a store that they reach over any dialer, or in a folder, and how they find
    // those of others. May not know the engine.
    Floor.fleet.target(
      "LastroFleet",
      [
        "CLastroPrimitives", "Lastro", "LastroEveryday", "LastroResilience", "LastroSupport", "LastroWire", logging,
      ]),

    // MARK: Streams

    // WebSocket over any dialer.
    Floor.streams.target("LastroWebSocket", ["Lastro", "LastroHTTP", "LastroSupport", "LastroWire", httpTypes]),
    // Gemini over any dialer.
    Floor.streams.target("LastroGemini", ["Lastro", "LastroSupport", "LastroWire"]),
    // Dialers around dialers: SOCKS 5, HTTP CONNECT, meek, obfs4, Shadowsocks, and chains of them.
    Floor.streams.target(
      "LastroTunnels", ["CLastroPrimitives", "Lastro", "LastroHTTP", "LastroSupport", "LastroWire", httpTypes]),
    // The Swift Transport API: connections, factories and framers, over the engine's dialer or any other.
    Floor.streams.target(
      "LastroTransports",
      [
        "Lastro", "LastroCurl", "LastroGemini", "LastroHTTP", "LastroSupport", "LastroTunnels", "LastroWebSocket",
        "LastroWire", httpTypes, logging,
      ]),

    // MARK: Testing

    // Server side of OpenSSL and of HPACK for the loopback servers, and the certificate mint.
    Floor.testing.shim("CLoopback", links: "ssl", "crypto", "nghttp2"),
    // For our users' tests of what fetches. May not import the engine nor a test framework.
    Floor.testing.target("LastroTesting", ["CLoopback", "Lastro", "LastroHAR", "LastroSupport", httpTypes]),
    // For our users' tests of streams: servers of WebSocket, Gemini, meek, obfs4 and Shadowsocks, and conformance of
    // connections.
    Floor.testing.target(
      "LastroStreamsTesting",
      [
        "CLoopback", "Lastro", "LastroSupport", "LastroTesting", "LastroTransports", "LastroTunnels", "LastroWebSocket",
        "LastroWire",
      ]),

    // What a simulation replaces in Swift's concurrency runtime, libdispatch and libc.
    Floor.testing.shim("CLastroSimulation"),
    // Services, servers and networks in one process and in virtual time, for our users' tests. Apart, because a program
    // that links it has replaced functions.
    Floor.testing.target(
      "LastroSimulation",
      ["CLastroSimulation", "Lastro", "LastroHTTP", "LastroSupport", "LastroTesting", "LastroWire", httpTypes]),

    // MARK: Tools

    // The command line, over the public API only.
    .executableTarget(
      name: "LastroCommand",
      dependencies: [
        "Lastro", "LastroCurl", "LastroEveryday", "LastroGemini", "LastroHAR", "LastroHTTP", "LastroObservability",
        "LastroSQLiteCache", "LastroSupport", "LastroTesting", "LastroTransports", "LastroTunnels", "LastroWebSocket",
        "LastroWire",
        httpTypes, logging,
        integration("ArgumentParser", "swift-argument-parser"),
      ],
      path: "Sources/Tools/LastroCommand", swiftSettings: settings),

    // MARK: What tests share; in no product

    // Servers of other projects, started for the tests.
    Floor.support.shared("PeerSupport"),
    // The client side of OpenSSL for the loopback servers. It shares declarations with their side.
    .target(
      name: "CLoopbackClient", dependencies: ["CLoopback"], path: "Tests/Support/CLoopbackClient",
      cSettings: [.headerSearchPath("../../../Sources/Testing/CLoopback")]),
    Floor.support.shared(
      "TestSupport",
      ["CLoopback", "CLoopbackClient", "Lastro", "LastroSupport", "LastroTesting", httpTypes, logging]),
    // An authority with servers, and dialers of libcurl that trust it. Apart, so that the engine's tests need no libcurl.
    Floor.support.shared("CurlSupport", ["Lastro", "LastroCurl", "LastroTesting", "TestSupport"]),
    // Lastro's promises over random faults, for the tests and for a program that makes millions of calls.
    Floor.support.shared(
      "PromiseSupport", ["Lastro", "LastroResilience", "LastroSimulation", "LastroTesting", httpTypes]),
    // Public test data, read from its folder.
    .target(
      name: "ConformanceData", path: "Tests/Conformance",
      exclude: [
        "README.md", "aws-sigv4", "cache-tests", "curl", "http-state", "llhttp", "publicsuffix", "structured-fields",
        "transports",
        "uritemplate", "url", "x509-limbo",
      ],
      swiftSettings: settings),

    // Prints what the readers of LastroWire read, one line for each input, which Tests/Readers compares with what other
    // implementations read. Linked alone, so that it reads millions of inputs without the test bundle.
    .executableTarget(
      name: "LastroReaders", dependencies: ["LastroWire"], path: "Tests/Readers/Program", swiftSettings: settings),

    // Keeps or breaks the promises of PromiseSupport in an optimized build.
    .executableTarget(
      name: "LastroPromises", dependencies: ["PromiseSupport"], path: "Tests/Support/LastroPromises",
      swiftSettings: settings),

    // MARK: Tests

    Floor.core.tests("LastroWireTests", ["CLastroPrimitives", "ConformanceData", "LastroWire", "TestSupport"]),
    Floor.core.tests(
      "LastroTests",
      [
        "ConformanceData", "Lastro", "LastroSupport", "LastroTesting", "LastroWire", "TestSupport", httpTypes, logging,
      ]),
    Floor.core.tests(
      "LastroHTTPTests",
      [
        "CLoopback", "Lastro", "LastroHTTP", "LastroSimulation", "LastroSupport", "LastroTesting", "LastroWire",
        "TestSupport", httpTypes,
      ]),
    Floor.core.tests(
      "LastroCurlTests",
      [
        "ConformanceData", "CurlSupport", "Lastro", "LastroCurl", "LastroEveryday", "LastroHTTP", "LastroResilience",
        "LastroSupport", "LastroTesting", "LastroTunnels", "LastroWire", "PeerSupport", "TestSupport", httpTypes,
        logging,
      ]),
    Floor.everyday.tests(
      "LastroEverydayTests",
      [
        "ConformanceData", "CurlSupport", "Lastro", "LastroCurl", "LastroEveryday", "LastroSupport", "LastroTesting",
        "LastroWire", "PeerSupport", "TestSupport", httpTypes,
      ]),
    Floor.everyday.tests(
      "LastroSQLiteCacheTests",
      [
        "Lastro", "LastroEveryday", "LastroSQLiteCache", "LastroSupport", "LastroTesting", "TestSupport", httpTypes,
      ]),
    Floor.everyday.tests(
      "LastroCodingsTests",
      [
        "CurlSupport", "Lastro", "LastroBrotli", "LastroCurl", "LastroSigning", "LastroTesting", "LastroWire",
        "LastroZstd", "PeerSupport", "TestSupport", httpTypes,
      ]),
    Floor.everyday.tests(
      "LastroSigningTests",
      [
        "ConformanceData", "CurlSupport", "Lastro", "LastroCurl", "LastroSigning", "LastroSupport", "LastroTesting",
        "LastroWire", "PeerSupport", "TestSupport", httpTypes,
      ]),
    Floor.everyday.tests(
      "LastroResilienceTests",
      [
        "Lastro", "LastroObservability", "LastroResilience", "LastroSimulation", "LastroSupport", "LastroTesting",
        "LastroWire", "TestSupport", httpTypes, integration("MetricsTestKit", "swift-metrics"),
      ]),
    Floor.everyday.tests(
      "LastroObservabilityTests",
      [
        "Lastro", "LastroHAR", "LastroObservability", "LastroSupport", "LastroTesting", "TestSupport", httpTypes,
        logging,
        integration("CoreMetrics", "swift-metrics"), integration("MetricsTestKit", "swift-metrics"),
        integration("Tracing", "swift-distributed-tracing"),
        integration("InMemoryTracing", "swift-distributed-tracing"),
      ]),
    Floor.everyday.tests(
      "LastroLifecycleTests",
      [
        "Lastro", "LastroCurl", "LastroLifecycle", "LastroTesting",
        integration("ServiceLifecycleTestKit", "swift-service-lifecycle"),
      ]),
    Floor.fleet.tests(
      "LastroFleetTests",
      [
        "CurlSupport", "Lastro", "LastroCurl", "LastroEveryday", "LastroFleet", "LastroObservability",
        "LastroResilience", "LastroSimulation", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport", httpTypes, logging, integration("MetricsTestKit", "swift-metrics"),
      ]),
    Floor.streams.tests(
      "LastroWebSocketTests",
      [
        "Lastro", "LastroCurl", "LastroHTTP", "LastroStreamsTesting", "LastroSupport", "LastroTesting",
        "LastroWebSocket", "LastroWire", "PeerSupport", "TestSupport", httpTypes,
      ]),
    Floor.streams.tests(
      "LastroGeminiTests",
      [
        "Lastro", "LastroCurl", "LastroGemini", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "PeerSupport",
        "TestSupport",
      ]),
    Floor.streams.tests(
      "LastroTunnelsTests",
      [
        "CLastroPrimitives", "ConformanceData", "CurlSupport", "Lastro", "LastroCurl", "LastroStreamsTesting",
        "LastroSupport", "LastroTesting", "LastroTransports", "LastroTunnels", "PeerSupport", "TestSupport", httpTypes,
      ]),
    // The other systems over the engine, too.
    Floor.streams.tests(
      "LastroTransportsTests",
      [
        "CLastro", "CurlSupport", "Lastro", "LastroCurl", "LastroEveryday", "LastroGemini", "LastroHTTP",
        "LastroObservability", "LastroResilience", "LastroStreamsTesting", "LastroSupport", "LastroTesting",
        "LastroTransports", "LastroTunnels", "LastroWebSocket", "LastroWire", "PeerSupport", "TestSupport", httpTypes,
        logging,
      ]),
    Floor.testing.tests(
      "LastroTestingTests",
      [
        "CLoopback", "Lastro", "LastroCurl", "LastroEveryday", "LastroHAR", "LastroObservability",
        "LastroSupport", "LastroTesting", "PeerSupport", "TestSupport", httpTypes,
      ]),
    Floor.testing.tests(
      "LastroSimulationTests",
      [
        "Lastro", "LastroEveryday", "LastroHTTP", "LastroResilience", "LastroSimulation", "LastroTesting",
        "PromiseSupport", "TestSupport", httpTypes,
      ]),
    Floor.testing.tests(
      "LastroStreamsTestingTests",
      [
        "CurlSupport", "Lastro", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "LastroTransports",
        "LastroTunnels", "PeerSupport", "TestSupport",
      ]),
    // Most tests run the command line as built; those of flags and refusals use its module and its parser.
    Floor.tools.tests(
      "LastroCommandTests",
      [
        "Lastro", "LastroCommand", "LastroCurl", "LastroStreamsTesting", "LastroSupport", "LastroTesting",
        "PeerSupport", "TestSupport",
        integration("ArgumentParser", "swift-argument-parser"),
      ]),
    Floor.support.tests("PeerSupportTests", ["PeerSupport"]),
  ],
  swiftLanguageModes: [.v6]
)

// Under a sanitizer, `.ci/test` builds the test targets alone that it runs.
let unbuilt = Context.environment["LASTRO_UNBUILT_TESTS"]?.split(separator: " ").map(String.init) ?? []
package.targets.removeAll { $0.type == .test && unbuilt.contains($0.name) }
