// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroHTTP

/// A dialer whose streams lead through a proxy, which it reaches over another dialer. HTTP over it runs on the event
/// loop of the bottom engine.
package protocol TunnelDialer: LayeredDialer {
  /// The dialer that opens the streams to the proxy.
  var below: any Dialer { get }
}

extension TunnelDialer {
  package var dialerBelow: (any Dialer)? { below }

  package func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  package func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }

  /// Opens a stream to the proxy.
  ///
  /// - Parameter name: the proxy's name in errors.
  func dialBelow(_ request: DialRequest, named name: String) async throws(TransportError) -> any ByteStream {
    do throws(TransportError) {
      return try await below.dial(request)
    } catch {
      throw error.reaching(name)
    }
  }
}
