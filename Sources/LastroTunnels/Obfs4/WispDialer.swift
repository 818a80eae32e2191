// SPDX-License-Identifier: Apache-2.0

public import Lastro

public struct WispDialer: Dialer {
  public let server: WispServer
  public let below: any Dialer

  public init(_ server: WispServer, over below: any Dialer) {
    self.server = server
    self.below = below
  }

  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    throw .refused(.unsupported, "not yet")
  }
}
