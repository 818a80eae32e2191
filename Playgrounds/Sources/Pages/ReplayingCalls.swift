// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting

private func recording(to directory: String) throws -> StackConfiguration {
  // sample: recorder
  var configuration = StackConfiguration(interceptors: [.retry])
  configuration.recorder = try CallRecorder(directory: directory)  // such as "/var/lib/shop/traces"
  // end
  return configuration
}

extension Page {
  static let replayingCalls = Page("ReplayingCalls") { stage in
    let folder = FileManager.default.temporaryDirectory.appending(path: "traces-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let configuration = try recording(to: folder.path)
    let github = try stage.github(configuration)
    guard let recorder = configuration.recorder else { return }
    // sample: marked
    let user = try await recorder.recording {
      try await github.fetch(.user("octocat"))
    }
    // end
    stage.check("a marked call has a trace", recorder.files.count == 1 && !user.value.login.isEmpty)
  }
}
