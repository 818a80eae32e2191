// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroCurl

extension NetworkConnection {
  /// Makes a connection over the shared engine (`CurlDialer.shared`), as `NWConnection(to:using:)` is over the
  /// system's.
  ///
  /// Its viability follows the system's network (``NetlinkPathMonitor``), unless the parameters have a monitor.
  ///
  /// - Parameters:
  ///   - endpoint: where it leads.
  ///   - parameters: stream or datagrams, TLS, framers; copied.
  public convenience init(to endpoint: ConnectionEndpoint, using parameters: ConnectionParameters) {
    self.init(to: endpoint, using: parameters.watched(), dialer: CurlDialer.shared)
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
