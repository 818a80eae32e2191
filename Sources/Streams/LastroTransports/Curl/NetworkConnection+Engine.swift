// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroCurl

extension NetworkConnection {
  /// Creates a connection that the shared engine dials (`CurlNetworkStack.sharedDialer`), as `NWConnection(to:using:)`
  /// uses the system's network stack.
  ///
  /// Its viability follows the kernel's reports of network changes
  /// (``ConnectionParameters/watchesNetworkPath``).
  ///
  /// - Parameters:
  ///   - endpoint: the destination.
  ///   - parameters: the transport protocol, TLS and framers. They are copied.
  public convenience init(to endpoint: ConnectionEndpoint, using parameters: ConnectionParameters) {
    self.init(to: endpoint, using: parameters.watched(), dialer: CurlNetworkStack.sharedDialer)
  }
}

extension ConnectionParameters {
  fileprivate func watched() -> ConnectionParameters {
    guard pathMonitor == nil else { return self }
    let result = copy()
    result.pathMonitor = NetlinkPathMonitor.shared
    return result
  }
}
