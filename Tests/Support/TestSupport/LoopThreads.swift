// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The threads of this process that run event loops.
package enum LoopThreads {
  /// Returns the number of threads. In a test process, other tests may start and end some at any time.
  package static func count() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { task in
      // A thread may have ended since the directory was read.
      (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "lastro-loop\n"
    }
  }
}
