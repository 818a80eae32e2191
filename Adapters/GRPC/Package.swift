// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that users of Lastro alone do not resolve grpc-swift-2. Lastro is the clone around it or, if this
// variable names one, a repository with tags, as for a user.
let repository = Context.environment["LASTRO_GIT"]
let lastro: Package.Dependency =
  if let repository {
    .package(url: repository, from: "0.1.0", traits: [])
  } else {
    .package(name: "Lastro", path: "../..", traits: [])
  }

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

let core: Target.Dependency = .product(name: "Lastro", package: "Lastro")
let engine: Target.Dependency = .product(name: "LastroCurl", package: "Lastro")
let doubles: Target.Dependency = .product(name: "LastroTesting", package: "Lastro")
let grpc: Target.Dependency = .product(name: "GRPCCore", package: "grpc-swift-2")
let nio: Target.Dependency = .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
  name: "LastroGRPC",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "LastroGRPC", targets: ["LastroGRPC"])
  ],
  dependencies: [
    lastro,
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/grpc/grpc-swift-2.git", from: "2.4.3"),
    // For tests and the benchmark alone: a program that uses the products does not resolve it.
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport.git", from: "2.9.2"),
  ],
  targets: [
    // gRPC's client transport over a stack.
    .target(name: "LastroGRPC", dependencies: [core, grpc, httpTypes], swiftSettings: settings),
    // Processor time of calls beside grpc-swift's own transport, in an optimized build: in no product.
    .executableTarget(
      name: "GRPCBench", dependencies: ["LastroGRPC", core, engine, grpc, nio], swiftSettings: settings),
    .testTarget(
      name: "LastroGRPCTests",
      dependencies: [
        "LastroGRPC", core, engine, doubles, grpc, nio, httpTypes,
        .product(name: "LastroHTTP", package: "Lastro"),
        .product(name: "LastroResilience", package: "Lastro"),
        .product(name: "LastroTunnels", package: "Lastro"),
      ], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
