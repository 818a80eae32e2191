// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The most files and sockets this process may have open.
enum DescriptorLimit {
  /// Raises it as far as the hard limit allows: thousands of connections are more than the usual 1,024.
  static func raise() throws(BenchFailure) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { throw .failed("getrlimit: \(String(cString: strerror(errno)))") }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(resource, &limit) == 0 else { throw .failed("setrlimit: \(String(cString: strerror(errno)))") }
  }
}
