// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

extension ConfigurationError {
  /// - Parameter path: the path of the file of known hosts.
  init(_ failure: PrivateFile.Failure, _ path: String) {
    switch failure {
    case .system(let words, let reason, let hint): self.init("\(words) \(path): \(reason)", hint: hint)
    case .unfit:
      self.init("\(path) is not a file of known hosts", hint: "name a regular file of at most 16 MiB")
    case .notText: self.init("\(path) is not UTF-8", hint: "name a file of known hosts, or fix it")
    case .tooLarge(let count):
      self.init("the known hosts for \(path) have \(count) bytes, above the maximum of 16 MiB", hint: "remove hosts")
    }
  }
}
