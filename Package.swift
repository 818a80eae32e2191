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
let metrics: Target.Dependency = .product(
  name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Integrations"]))
let tracing: Target.Dependency = .product(
  name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Integrations"]))

let package = Package(
  name: "Lastro",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Lastro", targets: ["Lastro", "LastroWire"]),
    .library(name: "LastroHTTP", targets: ["LastroHTTP"]),
    .library(name: "LastroWebSocket", targets: ["LastroWebSocket"]),
    .library(name: "LastroGemini", targets: ["LastroGemini"]),
    .library(name: "LastroTunnels", targets: ["LastroTunnels"]),
    .library(name: "LastroTransports", targets: ["LastroTransports"]),
    .library(name: "LastroObservability", targets: ["LastroObservability"]),
    .library(name: "LastroResilience", targets: ["LastroResilience"]),
    .library(name: "LastroNames", targets: ["LastroNames"]),
    .library(name: "LastroEvents", targets: ["LastroEvents"]),
    .library(name: "LastroMultipart", targets: ["LastroMultipart"]),
    .library(name: "LastroFiles", targets: ["LastroFiles"]),
    .library(name: "LastroCookies", targets: ["LastroCookies"]),
    .library(name: "LastroCache", targets: ["LastroCache"]),
    .library(name: "LastroSQLiteCache", targets: ["LastroSQLiteCache"]),
    .library(name: "LastroPages", targets: ["LastroPages"]),
    .library(name: "LastroCurl", targets: ["LastroCurl"]),
    .library(name: "LastroCurlTransports", targets: ["LastroCurlTransports"]),
    .library(name: "LastroLifecycle", targets: ["LastroLifecycle"]),
    .library(name: "LastroTesting", targets: ["LastroTesting"]),
    .library(name: "LastroStreamsTesting", targets: ["LastroStreamsTesting"]),
    .executable(name: "lastro", targets: ["LastroCommand"]),
  ],
  // What brings packages that most programs do not use: `traits: []` where Lastro is depended on leaves them out.
  // One trait for all: SwiftPM hands several to the compiler in any order, and another order builds everything anew.
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
    // The only door to libcurl and OpenSSL's client side. Holds no policy.
    .target(
      name: "CLastro",
      linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // The only door to libcrypto: message digests, and the reading of certificates. Holds no policy.
    .target(name: "CLastroCrypto", linkerSettings: [.linkedLibrary("crypto")]),
    // The only door to zlib: raw deflate for WebSocket, and content codings undone. Holds no policy.
    .target(name: "CLastroZlib", linkerSettings: [.linkedLibrary("z")]),
    // The only door to libnghttp2's client side. Holds no policy.
    .target(name: "CLastroHTTP2", linkerSettings: [.linkedLibrary("nghttp2")]),
    // The primitives of obfs4 and Shadowsocks over libcrypto. Holds no policy.
    .target(name: "CLastroObfuscation", linkerSettings: [.linkedLibrary("crypto")]),
    // Pure machines, bytes to events. Imports nothing but zlib's door, not even Foundation.
    .target(name: "LastroWire", dependencies: ["CLastroZlib"], swiftSettings: settings),
    // The client's side of an HTTP/2 connection, bytes and times to events. In no product.
    .target(name: "LastroHTTP2", dependencies: ["CLastroHTTP2", "LastroWire"], swiftSettings: settings),
    // The machines of obfs4 and Shadowsocks, both sides, bytes and times to events. In no product.
    .target(name: "LastroObfuscation", dependencies: ["CLastroObfuscation"], swiftSettings: settings),
    // A lock, a place for one answer, and what else every target needs. Public where it is specialised. In no product.
    .target(name: "LastroSupport", swiftSettings: settings),
    // What features import: HTTP, policy and trust. May not know libcurl, Dispatch, metrics nor tracing.
    .target(
      name: "Lastro", dependencies: ["CLastroCrypto", "LastroSupport", "LastroWire", httpTypes, logging],
      swiftSettings: settings),
    // The engine: HTTP/1.1 and HTTP/2 over any link, its event loop, and the transport over any dialer. May not know
    // libcurl, a TLS library nor Dispatch.
    .target(
      name: "LastroHTTP",
      dependencies: ["CLastroHTTP2", "Lastro", "LastroHTTP2", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // WebSocket over any dialer.
    .target(
      name: "LastroWebSocket", dependencies: ["Lastro", "LastroHTTP", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // Gemini over any dialer.
    .target(name: "LastroGemini", dependencies: ["Lastro", "LastroSupport", "LastroWire"], swiftSettings: settings),
    // Dialers around dialers: SOCKS 5, HTTP CONNECT, meek, obfs4, Shadowsocks, and chains of them.
    .target(
      name: "LastroTunnels",
      dependencies: ["Lastro", "LastroHTTP", "LastroObfuscation", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // The Swift Transport API: connections, factories and framers.
    .target(
      name: "LastroTransports",
      dependencies: ["Lastro", "LastroGemini", "LastroSupport", "LastroTunnels", "LastroWebSocket", "LastroWire"],
      swiftSettings: settings),
    // Metrics, spans and HTTP archives of fetches. The only place that knows swift-metrics and
    // swift-distributed-tracing.
    .target(
      name: "LastroObservability",
      dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes, logging, metrics, tracing],
      swiftSettings: settings),
    // What keeps a service up when its peers are down: breakers, limiters, pacing, hedging, endpoints, egress. May not
    // know the engine, streams nor metrics.
    .target(
      name: "LastroResilience", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // Resolvers of names, which the engine asks. May not know the engine, streams nor metrics.
    .target(
      name: "LastroNames", dependencies: ["Lastro", "LastroSupport", "LastroWire"], swiftSettings: settings),
    // Server-sent events, JSON lines, and streams of models made of them. Below here, up to the engine, stands what a
    // service does with HTTP every day: none of it may know the engine, streams nor metrics.
    .target(
      name: "LastroEvents", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes], swiftSettings: settings),
    // Forms of several parts, and answers of several parts.
    .target(
      name: "LastroMultipart", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // Downloads to files and uploads of files, which go on where they were cut.
    .target(
      name: "LastroFiles", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes], swiftSettings: settings),
    // Jars of cookies.
    .target(
      name: "LastroCookies", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes],
      swiftSettings: settings),
    // A private cache.
    .target(
      name: "LastroCache",
      dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes], swiftSettings: settings),
    // The only door to SQLite. Holds no policy.
    .target(name: "CLastroSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    // The cache's store on disk, a product of its own: who does not use it needs no SQLite.
    .target(
      name: "LastroSQLiteCache", dependencies: ["CLastroSQLite", "Lastro", "LastroCache", "LastroSupport", httpTypes],
      swiftSettings: settings),
    // Sequences of pages, operations that take long, and many questions in one.
    .target(
      name: "LastroPages", dependencies: ["Lastro", "LastroSupport", "LastroWire", httpTypes], swiftSettings: settings),
    // The engine. Only a composition root imports it.
    .target(
      name: "LastroCurl",
      dependencies: [
        "CLastro", "Lastro", "LastroHTTP", "LastroHTTP2", "LastroSupport", "LastroWire", httpTypes, logging,
      ],
      swiftSettings: settings),
    // The stack as a service of swift-service-lifecycle, whose dependencies take a while to compile.
    .target(
      name: "LastroLifecycle",
      dependencies: [
        "LastroCurl",
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Integrations"])),
      ],
      swiftSettings: settings),
    // Connections, factories and chains over the engine. Only a composition root imports it.
    .target(
      name: "LastroCurlTransports",
      dependencies: ["Lastro", "LastroCurl", "LastroHTTP", "LastroTransports", "LastroTunnels"],
      swiftSettings: settings),
    // Server side of OpenSSL and of HPACK for the loopback servers, and the certificate mint.
    .target(
      name: "CLoopback",
      linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto"), .linkedLibrary("nghttp2")]),
    // For our users' tests of what fetches. May not import the engine nor a test framework.
    .target(
      name: "LastroTesting", dependencies: ["CLoopback", "Lastro", "LastroSupport", httpTypes],
      swiftSettings: settings),
    // For our users' tests of streams: servers of WebSocket, Gemini, meek, obfs4 and Shadowsocks, and conformance of
    // connections.
    .target(
      name: "LastroStreamsTesting",
      dependencies: [
        "CLoopback", "Lastro", "LastroObfuscation", "LastroSupport", "LastroTesting", "LastroTransports",
        "LastroTunnels", "LastroWebSocket", "LastroWire", httpTypes,
      ],
      swiftSettings: settings),
    // The command line, over the public API only.
    .executableTarget(
      name: "LastroCommand",
      dependencies: [
        "Lastro", "LastroCache", "LastroCookies", "LastroCurl", "LastroCurlTransports", "LastroEvents",
        "LastroHTTP",
        "LastroFiles", "LastroGemini", "LastroMultipart", "LastroNames", "LastroPages", "LastroSQLiteCache",
        "LastroSupport", "LastroTesting", "LastroTunnels", "LastroWebSocket", "LastroWire", httpTypes, logging,
        .product(
          name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Integrations"])),
      ],
      swiftSettings: settings),
    // Servers of other projects, started for the tests. In no product.
    .target(name: "PeerSupport", path: "Tests/PeerSupport", swiftSettings: settings),
    // What the tests of several targets share. In no product.
    .target(
      name: "TestSupport",
      dependencies: ["Lastro", "LastroCurl", "LastroSupport", "LastroTesting", httpTypes, logging],
      path: "Tests/TestSupport", swiftSettings: settings),
    // Public test data, read from its folder. In no product.
    .target(
      name: "ConformanceData", path: "Tests/Conformance",
      exclude: [
        "README.md", "cache-tests", "curl", "http-state", "llhttp", "publicsuffix", "structured-fields", "transports",
        "uritemplate", "url", "x509-limbo",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroWireTests", dependencies: ["CLastroZlib", "ConformanceData", "LastroWire", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroHTTP2Tests", dependencies: ["CLoopback", "LastroHTTP2", "LastroWire", "TestSupport"],
      exclude: ["Endings/HTTP2ErrorTexts.txt"], swiftSettings: settings),
    .testTarget(
      name: "LastroTests",
      dependencies: [
        "ConformanceData", "Lastro", "LastroSupport", "LastroTesting", "LastroWire", "TestSupport", httpTypes, logging,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroObfuscationTests",
      dependencies: ["CLastroObfuscation", "ConformanceData", "LastroObfuscation", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroHTTPTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroHTTP", "LastroHTTP2", "LastroSupport", "LastroTesting", "LastroTunnels",
        "LastroWire", "TestSupport", httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroWebSocketTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "LastroWebSocket",
        "LastroWire", "PeerSupport",
        "TestSupport", httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroGeminiTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroGemini", "LastroStreamsTesting", "LastroSupport", "LastroTesting",
        "PeerSupport",
        "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroTunnelsTests",
      dependencies: [
        "ConformanceData", "Lastro", "LastroCurl", "LastroCurlTransports", "LastroObfuscation", "LastroStreamsTesting",
        "LastroSupport", "LastroTesting", "LastroTunnels", "PeerSupport", "TestSupport", httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroTransportsTests",
      dependencies: [
        "Lastro", "LastroGemini", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "LastroTransports",
        "LastroTunnels", "LastroWebSocket", "TestSupport", logging,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroObservabilityTests",
      dependencies: [
        "Lastro", "LastroObservability", "LastroSupport", "LastroTesting", "TestSupport", httpTypes, logging, metrics,
        tracing,
        .product(
          name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Integrations"])),
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Integrations"])),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroResilienceTests",
      dependencies: [
        "Lastro", "LastroObservability", "LastroResilience", "LastroSupport", "LastroTesting", "LastroWire",
        "TestSupport", httpTypes,
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Integrations"])),
      ],
      exclude: ["Errors/ResilienceErrorTexts.txt"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroNamesTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroNames", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport",
      ],
      exclude: ["Errors/NameErrorTexts.txt"], swiftSettings: settings),
    .testTarget(
      name: "LastroEventsTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroEvents", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport",
        httpTypes,
      ],
      exclude: ["Errors/EventErrorTexts.txt"], swiftSettings: settings),
    .testTarget(
      name: "LastroMultipartTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroMultipart", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport",
        httpTypes,
      ],
      exclude: ["Errors/MultipartErrorTexts.txt"], swiftSettings: settings),
    .testTarget(
      name: "LastroFilesTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroFiles", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport",
        httpTypes,
      ],
      exclude: ["Errors/FileErrorTexts.txt"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroCookiesTests",
      dependencies: [
        "ConformanceData", "Lastro", "LastroCache", "LastroCurl", "LastroCookies", "LastroSupport", "LastroTesting",
        "LastroWire",
        "PeerSupport", "TestSupport",
        httpTypes,
      ],
      exclude: ["Errors/CookieErrorTexts.txt"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroCacheTests",
      dependencies: [
        "ConformanceData", "Lastro", "LastroCurl", "LastroCache", "LastroSupport", "LastroTesting", "LastroWire",
        "PeerSupport", "TestSupport",
        httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroSQLiteCacheTests",
      dependencies: [
        "Lastro", "LastroCache", "LastroSQLiteCache", "LastroSupport", "LastroTesting", "TestSupport", httpTypes,
      ],
      exclude: ["Errors/CacheErrorTexts.txt"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroPagesTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroPages", "LastroSupport", "LastroTesting", "LastroWire", "PeerSupport",
        "TestSupport",
        httpTypes,
      ],
      exclude: ["Errors/PagesErrorTexts.txt"], swiftSettings: settings),
    .testTarget(
      name: "LastroCurlTests",
      dependencies: [
        "ConformanceData", "Lastro", "LastroCurl", "LastroHTTP", "LastroNames", "LastroResilience",
        "LastroSupport", "LastroTesting", "LastroTunnels", "LastroWire", "PeerSupport", "TestSupport", httpTypes,
        logging,
      ],
      swiftSettings: settings),
    // The other systems over the engine.
    .testTarget(
      name: "LastroCurlTransportsTests",
      dependencies: [
        "CLastro", "Lastro", "LastroCache", "LastroCookies", "LastroCurl", "LastroCurlTransports", "LastroEvents",
        "LastroHTTP", "LastroFiles", "LastroGemini", "LastroHTTP2", "LastroMultipart", "LastroObfuscation",
        "LastroObservability", "LastroPages", "LastroResilience", "LastroStreamsTesting", "LastroSupport",
        "LastroTesting",
        "LastroTransports", "LastroTunnels", "LastroWebSocket", "LastroWire", "PeerSupport", "TestSupport", httpTypes,
      ],
      exclude: ["Errors/ErrorTexts.txt"],
      swiftSettings: settings),
    .testTarget(
      name: "LastroLifecycleTests",
      dependencies: [
        "Lastro", "LastroCurl", "LastroLifecycle", "LastroTesting",
        .product(
          name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
          condition: .when(traits: ["Integrations"])),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroTestingTests",
      dependencies: [
        "Lastro", "LastroObservability", "LastroSupport", "LastroTesting", "PeerSupport", "TestSupport", httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LastroStreamsTestingTests",
      dependencies: [
        "Lastro", "LastroObfuscation", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "LastroTransports",
        "LastroTunnels", "PeerSupport", "TestSupport",
      ],
      swiftSettings: settings),
    // The command line is run as built: the test needs the program, not its module.
    .testTarget(
      name: "LastroCommandTests",
      dependencies: [
        "LastroCommand", "LastroStreamsTesting", "LastroSupport", "LastroTesting", "PeerSupport", "TestSupport",
      ],
      exclude: ["Errors/CommandErrorTexts.txt", "Errors/FlagWords.txt"],
      swiftSettings: settings),
    .testTarget(name: "PeerSupportTests", dependencies: ["PeerSupport"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// Under a sanitizer, `.ci/test` builds the test targets alone that it runs.
let unbuilt = Context.environment["LASTRO_UNBUILT_TESTS"]?.split(separator: " ").map(String.init) ?? []
package.targets.removeAll { $0.type == .test && unbuilt.contains($0.name) }
