// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The flags for the client certificate.
struct IdentityFlags: ParsableArguments {
  @Option(
    name: [.customShort("E"), .customLong("cert")], help: "PEM file of the client certificate (chain, leaf first).")
  var cert: String?
  @Option(help: "PEM file of its key. Default: in the certificate's file.")
  var key: String?

  func apply(to specification: inout RequestSpecification) { (specification.cert, specification.key) = (cert, key) }
}
