// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension EnginePort {
  /// Opens an engine over a dialer.
  ///
  /// - Parameters:
  ///   - role: the role of the server that responds: the target, or a proxy on the way.
  ///   - options: the options of requests that have none of their own.
  ///   - time: the clock that measures limits.
  static func open(
    over dialer: any Dialer, role: ServerTrust.Role, settings: EngineSettings, options: SharedOptions,
    time: TimeSource
  ) throws(ConfigurationError) -> EnginePort {
    let loop = try EventLoop.forHTTP(over: dialer, time: LoopTime(time))
    return .open(on: loop, settings, options: options) { DialerConnector(dialer, role: role, $0) }
  }
}

extension TransportError {
  /// Creates the error of an engine that could not be opened for lack of threads or descriptors.
  package init(_ error: ConfigurationError) {
    self.init(stage: .request, code: .engineFailure, message: error.message, hint: error.hint)
  }
}
