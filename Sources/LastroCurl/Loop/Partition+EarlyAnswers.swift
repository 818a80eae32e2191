// SPDX-License-Identifier: Apache-2.0

extension Partition {
  /// Takes the transfers that are answered in full while libcurl still waits to send the rest of their requests.
  func takeEarlyAnswers() -> [Transfer] {
    if earlyAnswers.isEmpty { return [] }
    var whole: [Transfer] = []
    earlyAnswers.removeAll { id in
      guard let transfer = transfers[id] else { return true }
      guard transfer.isAnsweredEarly else { return false }
      whole.append(transfer)
      return true
    }
    return whole
  }
}
