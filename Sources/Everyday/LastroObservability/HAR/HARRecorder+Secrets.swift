// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension HARRecorder {
  /// The treatment of secrets by a recorder.
  public enum Secrets: Sendable, Hashable {
    /// Masks secrets before anything is kept: in URLs, header fields, cookies, queries and bodies.
    case masked(Redaction)
    /// Writes everything unchanged, including passwords, tokens and cookies. A reader of the archive can impersonate
    /// your user.
    case writtenInTheClearForWhoeverReadsTheArchive

    /// Masks the usual names, and those that the options of requests name.
    public static let masked = Secrets.masked(.standard)

    func redaction(for request: ResourceRequest) -> Redaction? {
      switch self {
      case .masked(let redaction): redaction.adding(request)
      case .writtenInTheClearForWhoeverReadsTheArchive: nil
      }
    }
  }
}
