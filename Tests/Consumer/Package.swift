// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package outside the package, as a user's would be: it builds README's example. `.ci/samples.py` keeps both equal.
let package = Package(
  name: "Consumer",
  dependencies: [
    // Named, because the folder of a clone may have any name.
    .package(name: "Lastro", path: "../..", traits: [])
  ],
  targets: [
    .executableTarget(
      name: "ReadmeExample",
      dependencies: [
        .product(name: "Lastro", package: "Lastro"),
        .product(name: "LastroCurl", package: "Lastro"),
      ])
  ]
)
