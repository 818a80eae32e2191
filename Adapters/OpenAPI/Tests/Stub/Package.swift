// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// The part of swift-openapi-runtime's interface that the adapter uses, where the real one does not resolve.
let package = Package(
  name: "swift-openapi-runtime",
  platforms: [.macOS(.v15)],
  products: [.library(name: "OpenAPIRuntime", targets: ["OpenAPIRuntime"])],
  dependencies: [.package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0")],
  targets: [
    .target(name: "OpenAPIRuntime", dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")])
  ]
)
