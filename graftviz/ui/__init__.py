"""The only room that knows Streamlit: player component, scheduler, controls, URL state."""
