// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Who the client is, to a server that asks for a certificate.
struct IdentityFlags: ParsableArguments {
  @Option(
    name: [.customShort("E"), .customLong("cert")], help: "PEM file of the client certificate (chain, leaf first).")
  var cert: String?
  @Option(help: "PEM file of its key. Default: in the certificate's file.")
  var key: String?

  func apply(to specification: inout RequestSpecification) { (specification.cert, specification.key) = (cert, key) }
}
