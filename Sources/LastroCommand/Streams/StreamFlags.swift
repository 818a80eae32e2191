// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
internal import LastroCurlTransports
internal import LastroTunnels

/// What every command on streams has: how to reach the server, what to trust, and what to go through.
struct StreamFlags: ParsableArguments {
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @Option(help: "PEM file of the client certificate (chain, leaf first).")
  var cert: String?
  @Option(help: "PEM file of its key. Default: in the certificate's file.")
  var key: String?
  @OptionGroup var way: ViaFlags

  /// The options of a connection, checked.
  func options() throws -> ConnectionOptions {
    var specification = RequestSpecification(url: "")
    connection.apply(to: &specification)
    (specification.cert, specification.key) = (cert, key)
    return try specification.connection()
  }

  /// Limit until connected, checked.
  func connectTimeout() throws -> Duration? {
    var specification = RequestSpecification(url: "")
    connection.apply(to: &specification)
    return try specification.timeouts().connect
  }

  /// What carries the bytes: the engine, or what --via puts over it.
  func dialer(on engine: CurlTransport) throws -> any Dialer { try way.chain().dialer(on: engine) }

  /// Whether an end of our direction does not reach the server: meek, obfs4 and Shadowsocks, wherever they are on the
  /// way, have no word for it that servers take as such.
  func passesNoEnd() throws -> Bool {
    try way.chain().hops.contains {
      switch $0 {
      case .meek, .obfs4, .shadowsocks: true
      default: false
      }
    }
  }
}
