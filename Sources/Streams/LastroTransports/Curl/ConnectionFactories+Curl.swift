// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroCurl

extension MeekConnectionFactory {
  /// Creates a factory that sends its requests with a stack of its own, in the default configuration.
  ///
  /// - Throws: `ConfigurationError`, as the other initializers do, and if there is no thread or descriptor left for
  ///   the stack.
  public init(to: URL, serverURL: URL) throws(ConfigurationError) {
    try self.init(to: to, serverURL: serverURL, stack: CurlNetworkStack())
  }
}

extension WispConnectionFactory {
  /// Creates a factory that dials its server with the shared engine.
  ///
  /// - Throws: `ConfigurationError`, as the other initializers do.
  public init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool) throws(ConfigurationError) {
    try self.init(
      serverAddress: serverAddress, cert: cert, iatMode: iatMode,
      factory: NetworkConnectionFactory(to: serverAddress, dialer: CurlNetworkStack.sharedDialer))
  }
}
