// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
internal import LastroCurlTransports
internal import LastroTunnels

/// A command on a stream. Its groups stand beside one another, as those of a `FetchingCommand` do.
protocol StreamCommand: AsyncParsableCommand {
  var connection: ConnectionFlags { get }
  var pins: PinFlags { get }
  var identity: IdentityFlags { get }
  var way: ViaFlags { get }
}

extension StreamCommand {
  var flags: StreamFlags { StreamFlags(connection: connection, pins: pins, identity: identity, way: way) }
}

/// What every command on streams has: how to reach the server, what to trust, and what to go through.
struct StreamFlags {
  let connection: ConnectionFlags
  let pins: PinFlags
  let identity: IdentityFlags
  let way: ViaFlags

  /// The options of a connection, checked.
  func options() throws -> ConnectionOptions {
    var specification = RequestSpecification(url: "")
    connection.apply(to: &specification)
    identity.apply(to: &specification)
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
