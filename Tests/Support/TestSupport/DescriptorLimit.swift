// SPDX-License-Identifier: Apache-2.0

import Glibc
package import LastroTesting

extension LoopbackServer {
  /// Raises this process's soft limit of open descriptors to the hard limit (`RLIMIT_NOFILE`), as needed by a test with
  /// thousands of connections.
  ///
  /// - Returns: the limit now in force; 0 if it cannot be read.
  @discardableResult
  package static func raiseDescriptorLimit() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    let before = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    return Int(clamping: setrlimit(resource, &limit) == 0 ? limit.rlim_max : before)
  }
}
