// SPDX-License-Identifier: Apache-2.0
// `.ci/outside` appends this to the manifest of Playgrounds, to build Lastro once for all packages that use it. The
// same lines are in the manifests of Tests/Consumer, Benchmarks and Adapters/OpenAPI, and in the first guide.
// Benchmarks of AsyncHTTPClient are left out, because its dependencies take longer to build than all the rest.

let lastro: Target.Dependency = .product(name: "Lastro", package: "Lastro")
let engine: Target.Dependency = .product(name: "LastroCurl", package: "Lastro")
let doubles: Target.Dependency = .product(name: "LastroTesting", package: "Lastro")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

func benchmark(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Benchmarks/Sources/\(name)", swiftSettings: strict)
}

// The adapter's runtime does not resolve everywhere.
package.dependencies.append(.package(name: "swift-openapi-runtime", path: "../../../Adapters/OpenAPI/Tests/Stub"))
package.products += [
  .executable(name: "lastro-bench", targets: ["LastroBench"]),
  .executable(name: "urlsession-bench", targets: ["URLSessionBench"]),
]
package.targets += [
  .executableTarget(
    name: "ReadmeExample", dependencies: [lastro, engine], path: "Consumer/Sources/ReadmeExample"),
  .executableTarget(name: "Hello", dependencies: [lastro, engine], path: "hello/Sources/Hello"),
  .testTarget(name: "HelloTests", dependencies: ["Hello", doubles], path: "hello/Tests/HelloTests"),
  .target(name: "BenchSupport", path: "Benchmarks/Sources/BenchSupport", swiftSettings: strict),
  benchmark(
    "LastroBench",
    [
      "BenchSupport", lastro, engine, .product(name: "LastroHTTP", package: "Lastro"),
      .product(name: "LastroTunnels", package: "Lastro"), httpTypes, logging,
    ]),
  benchmark(
    "PipelineBench",
    [
      lastro, .product(name: "LastroFleet", package: "Lastro"), .product(name: "LastroResilience", package: "Lastro"),
      httpTypes,
    ]),
  benchmark("StreamBench", [lastro, engine, doubles]),
  benchmark("URLSessionBench", ["BenchSupport"]),
  .target(
    name: "LastroOpenAPI",
    dependencies: [lastro, .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"), httpTypes],
    path: "Adapters/OpenAPI/Sources/LastroOpenAPI"),
  .testTarget(
    name: "LastroOpenAPITests", dependencies: ["LastroOpenAPI", lastro, doubles],
    path: "Adapters/OpenAPI/Tests/LastroOpenAPITests"),
]
