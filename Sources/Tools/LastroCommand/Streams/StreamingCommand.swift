// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
internal import LastroTransports
internal import LastroTunnels

/// A command on a stream, with the flags for reaching the server, for trust, and for transports on the way. As in a
/// `FetchingCommand`, its groups are not nested.
protocol StreamingCommand: AsyncParsableCommand {
  var connection: ConnectionFlags { get }
  var pins: PinFlags { get }
  var identity: IdentityFlags { get }
  var way: ViaFlags { get }
}

extension StreamingCommand {
  /// Returns the validated connection options.
  func connectionOptions() throws -> ConnectionOptions {
    var specification = RequestSpecification(url: "")
    connection.apply(to: &specification)
    identity.apply(to: &specification)
    return try specification.connection()
  }

  /// Returns the validated connect timeout.
  func connectTimeout() throws -> Duration? {
    var specification = RequestSpecification(url: "")
    connection.apply(to: &specification)
    return try specification.timeouts().connect
  }

  /// Returns the dialer: the engine, or the transports of --via over it.
  func dialer(on engine: CurlTransport) throws -> any Dialer { try way.chain().dialer(on: engine) }

  /// Returns whether the end of our direction cannot reach the server: meek, obfs4 and Shadowsocks, anywhere in the
  /// chain, have no signal for it that servers understand.
  func passesNoEnd() throws -> Bool {
    try way.chain().hops.contains {
      switch $0 {
      case .meek, .obfs4, .shadowsocks: true
      default: false
      }
    }
  }
}
