//! Contracts of tools: what an operation is published with.

use axum::extract::State;
use ratchet::ledger::Document;
use ratchet::{DocumentKind, Namespace, OperationName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::policy::PolicyBody;
use crate::serve::auth::{Grant, Operator};
use crate::serve::problem::{Problem, Problems};
use crate::serve::shelf::Kept;
use crate::serve::{App, Json};

/// A contract. What the server does not know of it is kept as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool {
    /// The operation.
    #[schema(min_length = 1, max_length = 128, pattern = "^[a-z0-9_.-]+$")]
    name: String,
    /// Of the contract; one that is published never changes.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.+-]+$")]
    version: String,
    /// Goes before the policy of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_policy: Option<PolicyBody>,
    /// Such as schemas, for those who read the contract.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    rest: Map<String, Value>,
}

impl Kept for Tool {
    const KIND: DocumentKind = DocumentKind::from_static("tool");
}

/// Which contract applies where a producer names none.
#[derive(Serialize, Deserialize)]
struct Newest {
    version: String,
}

impl Kept for Newest {
    const KIND: DocumentKind = DocumentKind::from_static("newest_tool");
}

#[derive(Serialize, ToSchema)]
pub(super) struct Published {
    tool: Tool,
    /// Whether it was published now; otherwise it was before.
    created: bool,
}

/// Publishes a contract, which from then on applies to steps of the operation that name none.
#[utoipa::path(post, path = "/tools", tag = "operator", request_body = Tool,
    responses((status = 200, body = Published), Problems))]
pub(super) async fn publish(
    State(app): State<App>,
    Operator(grant): Operator,
    Json(tool): Json<Tool>,
) -> Result<Json<Published>, Problem> {
    let operation =
        OperationName::new(tool.name.clone()).map_err(|error| Problem::malformed(error.to_string()))?;
    grant.require_operation(&operation)?;
    if !is_version(&tool.version) {
        return Err(Problem::malformed(
            "the version of a contract has 1 to 64 letters, digits, `_`, `.`, `+` and `-`",
        ));
    }
    if let Some(policy) = &tool.retry_policy {
        policy.retry()?;
    }
    let name = document(&operation, &tool.version);
    let created = app.shelf().create(&grant.namespace, &name, &tool).await?;
    if !created && !is_published(&app, &grant, &name, &tool).await? {
        let text = "another contract is published under this version: publish it under a new one";
        return Err(Problem::refused("CONTRACT_EXISTS", text));
    }
    let newest = |_| Some(Newest { version: tool.version.clone() });
    app.shelf().change(&grant.namespace, operation.as_str(), newest).await?;
    Ok(Json(Published { tool, created }))
}

/// Whether exactly this stands under the name; numbers are compared as they are kept.
async fn is_published(app: &App, grant: &Grant, name: &str, tool: &Tool) -> Result<bool, Problem> {
    let standing: Option<Tool> = app.shelf().read(&grant.namespace, name).await?;
    Ok(standing.is_some_and(|standing| Document::body(&standing).ok() == Document::body(tool).ok()))
}

fn is_version(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

/// `@` stands in no name, so no two contracts have one document.
fn document(operation: &OperationName, version: &str) -> String {
    format!("{operation}@{version}")
}

/// The contract of an operation that a producer names, or the newest, if there is one.
pub(super) async fn contract_of(
    app: &App,
    namespace: &Namespace,
    operation: &OperationName,
    version: Option<&str>,
) -> Result<Option<Tool>, Problem> {
    let shelf = app.shelf();
    let newest = match version {
        Some(_) => None,
        None => shelf.recent::<Newest>(namespace, operation.as_str()).await?.map(|newest| newest.version),
    };
    let Some(chosen) = version.map(str::to_owned).or(newest) else { return Ok(None) };
    match shelf.recent(namespace, &document(operation, &chosen)).await? {
        None => Err(Problem::refused(
            "UNKNOWN_CONTRACT",
            "no contract of this version is published for the operation",
        )),
        tool => Ok(tool),
    }
}
