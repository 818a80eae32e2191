// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "FilesOfAGet",
  dependencies: [.package(name: "Lastro", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "Get",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"), .product(name: "LastroCurl", package: "Lastro"),
      ])
  ])
