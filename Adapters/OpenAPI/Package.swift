// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that users of Lastro alone do not resolve swift-openapi-runtime.
let isStubbed = Context.environment["LASTRO_OPENAPI_STUB"] != nil
let runtime: Package.Dependency =
  isStubbed
  ? .package(name: "swift-openapi-runtime", path: "Tests/Stub")
  : .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.9.0")

let package = Package(
  name: "LastroOpenAPI",
  platforms: [.macOS(.v15)],
  products: [.library(name: "LastroOpenAPI", targets: ["LastroOpenAPI"])],
  dependencies: [
    .package(name: "Lastro", path: "../.."), runtime,
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
  ],
  targets: [
    .target(
      name: "LastroOpenAPI",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    .testTarget(
      name: "LastroOpenAPITests",
      dependencies: [
        "LastroOpenAPI", .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroTesting", package: "Lastro"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
