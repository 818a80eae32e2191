// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The maximum number of files and sockets that this process may have open.
enum DescriptorLimit {
  /// Raises the limit to the hard limit, because the usual limit of 1,024 is too low for thousands of connections.
  static func raise() throws(BenchFailure) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { throw .failed("getrlimit: \(String(cString: strerror(errno)))") }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(resource, &limit) == 0 else { throw .failed("setrlimit: \(String(cString: strerror(errno)))") }
  }
}
