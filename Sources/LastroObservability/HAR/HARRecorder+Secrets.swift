// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension HARRecorder {
  /// What a recorder does about secrets.
  public enum Secrets: Sendable, Hashable {
    /// They are masked before anything is kept: in URLs, header fields, cookies, queries and bodies.
    case masked(Redaction)
    /// Everything is written as it was, passwords, tokens and cookies included. A reader of the archive can act as your
    /// user.
    case writtenInTheClearForWhoeverReadsTheArchive

    /// Masked by the usual names, and by what the options of requests name.
    public static let masked = Secrets.masked(.standard)

    func redaction(for request: ResourceRequest) -> Redaction? {
      switch self {
      case .masked(let redaction): redaction.adding(request)
      case .writtenInTheClearForWhoeverReadsTheArchive: nil
      }
    }
  }
}
